// Shapes of ops that give the same elements another shape.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

// What Reshape's second input asks for. Zeros are kept apart, as TensorFlow's kernel does: [0,3] to [-1,0] is [3,0].
struct Target {
  Dims dims;
  int inferred = -1;    // Index of the -1.
  int64_t product = 1;  // Of the sizes that are not zero; unknown when one of them is.
  bool has_zero = false;
};

absl::Status ReadTarget(InferenceContext& c, const ShapeValue& sizes, Target* target) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = sizes[i];
    if (size == -1) {
      if (target->inferred >= 0) return c.ValueError(1, "only one size may be -1");
      target->inferred = static_cast<int>(i);
    } else if (size == kUnknownValue) {
      target->product = kUnknownDim;
    } else if (size < 0) {
      return c.ValueError(1, absl::StrCat("the size ", size, " is negative"));
    } else if (size == 0) {
      target->has_zero = true;
    } else {
      target->product = MulDims(target->product, size);
    }
    target->dims.push_back(sizes.SizeAt(i));
  }
  return absl::OkStatus();
}

// Elements of input 0; zeros are left out when `skip_zeros`. Unknown when a dimension is.
int64_t CountElements(const PartialShape& shape, bool skip_zeros) {
  if (!shape.has_rank()) return kUnknownDim;
  int64_t count = 1;
  for (const int64_t size : shape.dims()) {
    if (size < 0) return kUnknownDim;
    if (size > 0 || !skip_zeros) count = MulDims(count, size);
  }
  return count;
}

// The size behind the -1 where the input has unknown sizes: those that the target states too, by id, cancel out. At
// most one may be left over, and then the target states known sizes only: [x,4,5] to [-1,20] gives x, but [x,y] to
// [-1,y] gives 1 where both are 0.
int64_t InferById(const PartialShape& input, const Target& target) {
  if (!input.has_rank() || target.has_zero) return kUnknownDim;
  Dims left;
  int64_t given = 1, wanted = 1;
  for (const int64_t size : input.dims()) {
    if (size < 0) left.push_back(size);
    given = size < 0 ? given : MulDims(given, size);
  }
  bool is_cancelled = false;
  for (size_t i = 0; i < target.dims.size(); ++i) {
    const int64_t size = target.dims[i];
    if (static_cast<int>(i) == target.inferred) continue;
    if (size >= 0) {
      wanted = MulDims(wanted, size);
      continue;
    }
    const auto same = IsDimId(size) ? std::find(left.begin(), left.end(), size) : left.end();
    if (same == left.end()) return kUnknownDim;
    left.erase(same);
    is_cancelled = true;
  }
  if (given <= 0 || wanted <= 0) return kUnknownDim;
  if (left.empty()) return DivDims(given, wanted);
  return left.size() == 1 && !is_cancelled && given == wanted ? UnknownOrId(left[0]) : kUnknownDim;
}

absl::Status Reshape(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtMost(1, 1));
  const ShapeValue* sizes = c.value(1);
  if (sizes == nullptr) {
    const int64_t length = c.dim(1, 0);
    if (length >= 0 && length <= kMaxRank) c.Set(0, PartialShape::OfRank(static_cast<int>(length)));
    return absl::OkStatus();
  }
  Target target;
  SLUICE_RETURN_IF_ERROR(ReadTarget(c, *sizes, &target));
  const int64_t all = CountElements(c.input(0), false);
  const auto mismatch = [&] {
    return c.MismatchError(0, "cannot be reshaped to another number of elements", c.input(0), ShapeOf(target.dims));
  };
  if (target.inferred >= 0) {
    const int64_t count = CountElements(c.input(0), target.has_zero);
    if (count >= 0 && target.product > 0) {
      if (count % target.product != 0) return mismatch();
      target.dims[static_cast<size_t>(target.inferred)] = count / target.product;
    } else {
      target.dims[static_cast<size_t>(target.inferred)] = InferById(c.input(0), target);
    }
  }
  const int64_t wanted = CountElements(ShapeOf(target.dims), false);
  if (DimsDiffer(all, wanted)) return mismatch();
  // One unknown size follows from the others.
  if (all > 0 && target.inferred < 0) {
    int64_t known = 1;
    int unknown = -1, unknowns = 0;
    for (size_t i = 0; i < target.dims.size(); ++i) {
      if (target.dims[i] < 0) {
        unknown = static_cast<int>(i);
        ++unknowns;
      } else {
        known = MulDims(known, target.dims[i]);
      }
    }
    if (unknowns == 1) target.dims[static_cast<size_t>(unknown)] = DivDims(all, known);
  }
  c.Set(0, target.dims);
  return absl::OkStatus();
}

absl::Status ExpandDims(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  const int64_t axis = c.scalar(1);
  if (axis == kUnknownValue) {
    if (c.rank(0) < kMaxRank) c.Set(0, PartialShape::OfRank(c.rank(0) + 1));
    return absl::OkStatus();
  }
  int at;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(axis, c.rank(0) + 1, 1, &at));
  Dims dims = DimsOf(c.input(0));
  dims.insert(dims.begin() + at, 1);
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status Squeeze(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  const Dims sizes = DimsOf(c.input(0));
  std::vector<bool> drop(sizes.size());
  const std::vector<int64_t> axes = c.Ints("squeeze_dims");
  for (const int64_t axis : axes) {
    int at;
    SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(axis, c.rank(0), -1, &at));
    if (DimsDiffer(sizes[static_cast<size_t>(at)], 1)) {
      return c.MismatchError(0, absl::StrCat("dimension ", at, " cannot be squeezed, its size is not 1"), c.input(0),
                             PartialShape());
    }
    drop[static_cast<size_t>(at)] = true;
  }
  Dims dims;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (axes.empty() && sizes[i] < 0) return absl::OkStatus();  // It may be 1 or not: not even the rank is known.
    if (axes.empty() ? sizes[i] != 1 : !drop[i]) dims.push_back(sizes[i]);
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status Transpose(InferenceContext& c) {
  const ShapeValue* perm = c.value(1);
  const int64_t length = perm != nullptr ? static_cast<int64_t>(perm->size()) : c.dim(1, 0);
  if (perm == nullptr && c.rank(1) != 1) {
    if (c.input(0).has_rank()) c.Set(0, PartialShape::OfRank(c.rank(0)));
    return absl::OkStatus();
  }
  if (c.input(0).has_rank() && length >= 0 && length != c.rank(0)) {
    return c.RankError(0, absl::StrCat("rank ", length, ", the length of the permutation"));
  }
  const int64_t rank = c.input(0).has_rank() ? c.rank(0) : length;
  if (rank < 0 || rank > kMaxRank) return absl::OkStatus();
  Dims dims(static_cast<size_t>(rank), kUnknownDim);
  std::vector<bool> seen(dims.size());
  for (size_t i = 0; perm != nullptr && i < dims.size(); ++i) {
    const int64_t axis = (*perm)[i];
    if (axis == kUnknownValue) continue;
    if (axis < 0 || axis >= rank || seen[static_cast<size_t>(axis)]) {
      return c.ValueError(1, absl::StrCat("is not a permutation: ", axis, " at position ", i));
    }
    seen[static_cast<size_t>(axis)] = true;
    dims[i] = c.dim(0, static_cast<int>(axis));
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status EnsureShape(InferenceContext& c) {
  const PartialShape wanted = c.ShapeAttr("shape");
  absl::StatusOr<PartialShape> merged = c.input(0).MergeWith(wanted);
  if (!c.input(0).IsCompatibleWith(wanted)) {
    return c.MismatchError(0, "is not of the ensured shape", c.input(0), wanted);
  }
  c.Pass(0, 0);
  if (merged.ok()) c.Set(0, *merged);
  return absl::OkStatus();
}

absl::Status Shape(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    c.SetVector(i, c.rank(i));
    if (!c.input(i).has_rank()) continue;
    c.SetValue(i, ShapeValue::OfSizes(false, DimsOf(c.input(i))));
  }
  return absl::OkStatus();
}

absl::Status Rank(InferenceContext& c) {
  c.SetScalar(0);
  if (c.input(0).has_rank()) c.SetValue(0, ShapeValue::Scalar(c.rank(0)));
  return absl::OkStatus();
}

absl::Status Size(InferenceContext& c) {
  c.SetScalar(0);
  const int64_t count = CountElements(c.input(0), false);
  if (count >= 0) c.SetValue(0, ShapeValue::Scalar(count));
  if (c.rank(0) == 1) c.SetValue(0, ShapeValue::OfSizes(true, {c.dim(0, 0)}));
  return absl::OkStatus();
}

absl::Status InvertPermutation(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  c.SetVector(0, c.dim(0, 0));
  return absl::OkStatus();
}

// The shape of what two shape vectors broadcast to.
absl::Status BroadcastArgs(InferenceContext& c) {
  const int64_t a = c.dim(0, 0), b = c.dim(1, 0);
  c.SetVector(0, a < 0 || b < 0 ? kUnknownDim : std::max(a, b));
  return absl::OkStatus();
}

absl::Status BroadcastTo(InferenceContext& c) {
  PartialShape wanted;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(1, false, &wanted));
  c.Set(0, wanted);
  if (!wanted.has_rank() || !c.input(0).has_rank()) return absl::OkStatus();
  const int offset = wanted.rank() - c.rank(0);
  bool fits = offset >= 0;
  for (int i = 0; fits && i < c.rank(0); ++i) {
    fits = c.input(0).dim(i) == 1 || !DimsDiffer(c.input(0).dim(i), wanted.dim(i + offset));
  }
  return fits ? absl::OkStatus() : c.MismatchError(0, "does not broadcast to the wanted shape", c.input(0), wanted);
}

constexpr ShapeRow kRows[] = {
    {"BroadcastArgs", &BroadcastArgs},
    {"BroadcastGradientArgs", &VectorOutputs},
    {"BroadcastTo", &BroadcastTo},
    {"ConjugateTranspose", &Transpose},
    {"EnsureShape", &EnsureShape},
    {"ExpandDims", &ExpandDims},
    {"InvertPermutation", &InvertPermutation},
    {"Rank", &Rank},
    {"Reshape", &Reshape},
    {"Shape", &Shape},
    {"ShapeN", &Shape},
    {"Size", &Size},
    {"Squeeze", &Squeeze},
    {"Transpose", &Transpose},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> ReshapeRows() { return kRows; }

}  // namespace sluice

// Shapes of ops that join tensors along an axis, cut them up, repeat or pad them.

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

absl::Status Pack(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(SameShapeInputs(c));
  const PartialShape element = c.output(0);
  c.Set(0, PartialShape());
  if (!element.has_rank()) return absl::OkStatus();
  int axis;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(c.Int("axis"), element.rank() + 1, -1, &axis));
  Dims dims = DimsOf(element);
  dims.insert(dims.begin() + axis, c.num_inputs());
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status Unpack(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  int axis;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(c.Int("axis"), c.rank(0), -1, &axis));
  if (DimsDiffer(c.dim(0, axis), c.num_outputs())) {
    return c.MismatchError(
        0, absl::StrCat("attr num is ", c.num_outputs(), ", the size of dimension ", axis, " is another"), c.input(0),
        PartialShape());
  }
  Dims dims = DimsOf(c.input(0));
  dims.erase(dims.begin() + axis);
  c.SetAll(ShapeOf(dims));
  return absl::OkStatus();
}

// Joins inputs [begin, end) along the axis in input `axis_input`.
absl::Status ConcatInputs(InferenceContext& c, int begin, int end, int axis_input) {
  int rank = -1;
  for (int i = begin; i < end; ++i) {
    if (!c.input(i).has_rank()) continue;
    if (rank >= 0 && rank != c.rank(i)) return c.RankError(i, absl::StrCat("rank ", rank, ", as the inputs before it"));
    rank = c.rank(i);
  }
  if (rank < 0) return absl::OkStatus();
  const int64_t stated = c.scalar(axis_input);
  if (stated == kUnknownValue) {
    c.Set(0, PartialShape::OfRank(rank));
    return absl::OkStatus();
  }
  int axis;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(stated, rank, axis_input, &axis));
  Dims dims(static_cast<size_t>(rank), kUnknownDim);
  dims[static_cast<size_t>(axis)] = 0;
  for (int i = begin; i < end; ++i) {
    for (int d = 0; d < rank; ++d) {
      int64_t& size = dims[static_cast<size_t>(d)];
      if (d == axis) {
        size = AddDims(size, c.dim(i, d));
      } else if (DimsDiffer(size, c.dim(i, d))) {
        return c.MismatchError(i, absl::StrCat("differs from the inputs before it in dimension ", d), c.input(i),
                               c.input(begin));
      } else {
        size = EitherDim(size, c.dim(i, d));
      }
    }
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status Concat(InferenceContext& c) { return ConcatInputs(c, 1, c.num_inputs(), 0); }
absl::Status ConcatV2(InferenceContext& c) { return ConcatInputs(c, 0, c.num_inputs() - 1, c.num_inputs() - 1); }

// Offsets of each operand of a concatenation, one per dimension.
absl::Status ConcatOffset(InferenceContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) c.Set(i - 1, c.input(i));
  return absl::OkStatus();
}

// All outputs have the shape of `value`, except for the size along the axis.
absl::Status Split(InferenceContext& c) {
  if (!c.input(1).has_rank()) return absl::OkStatus();
  const int64_t stated = c.scalar(0);
  const int64_t parts = c.num_outputs();
  if (stated == kUnknownValue || parts == 0) {
    c.SetAll(PartialShape::OfRank(c.rank(1)));
    return absl::OkStatus();
  }
  int axis;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(stated, c.rank(1), 0, &axis));
  Dims dims = DimsOf(c.input(1));
  int64_t& size = dims[static_cast<size_t>(axis)];
  if (size >= 0 && size % parts != 0) {
    return c.MismatchError(1, absl::StrCat("dimension ", axis, " cannot be split into ", parts, " equal parts"),
                           c.input(1), PartialShape());
  }
  size = DivDims(size, parts);
  c.SetAll(ShapeOf(dims));
  return absl::OkStatus();
}

absl::Status SplitV(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  const int64_t stated = c.scalar(2);
  const ShapeValue* sizes = c.value(1);
  const bool usable = sizes != nullptr && static_cast<int>(sizes->size()) == c.num_outputs();
  if (stated == kUnknownValue || !usable) {
    c.SetAll(PartialShape::OfRank(c.rank(0)));
    return absl::OkStatus();
  }
  int axis;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(stated, c.rank(0), 2, &axis));
  const int64_t total = c.dim(0, axis);
  int64_t sum = 0;
  int inferred = -1;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if ((*sizes)[i] == -1 && inferred < 0) {
      inferred = static_cast<int>(i);
    } else {
      sum = AddDims(sum, sizes->SizeAt(i));
    }
  }
  if (inferred < 0 && DimsDiffer(sum, total)) {
    return c.ValueError(1, absl::StrCat("the sizes add up to ", sum, ", dimension ", axis, " is ", total));
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    Dims dims = DimsOf(c.input(0));
    dims[static_cast<size_t>(axis)] = i == inferred ? SubDims(total, sum) : sizes->SizeAt(static_cast<size_t>(i));
    c.Set(i, dims);
  }
  return absl::OkStatus();
}

absl::Status Tile(InferenceContext& c) {
  const ShapeValue* multiples = c.value(1);
  const int64_t length = multiples != nullptr ? static_cast<int64_t>(multiples->size()) : c.dim(1, 0);
  if (c.input(0).has_rank() && length >= 0 && length != c.rank(0)) {
    return c.RankError(0, absl::StrCat("rank ", length, ", the number of multiples"));
  }
  const int64_t rank = c.input(0).has_rank() ? c.rank(0) : length;
  if (rank < 0 || rank > kMaxRank) return absl::OkStatus();
  Dims dims(static_cast<size_t>(rank), kUnknownDim);
  for (size_t i = 0; multiples != nullptr && i < dims.size(); ++i) {
    const int64_t multiple = (*multiples)[i];
    if (multiple < 0 && multiple != kUnknownValue) {
      return c.ValueError(1, absl::StrCat("the multiple ", multiple, " is negative"));
    }
    dims[i] = MulDims(c.dim(0, static_cast<int>(i)), multiples->SizeAt(i));
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

// Paddings are a [rank, 2] matrix, whose contents are followed only when they are a Const.
absl::Status Padded(InferenceContext& c, bool shrink) {
  if (c.input(0).has_rank() && DimsDiffer(c.dim(1, 0), c.rank(0))) {
    return c.MismatchError(1, absl::StrCat("paddings for a tensor of rank ", c.rank(0)), c.input(1),
                           ShapeOf({c.rank(0), 2}));
  }
  const int64_t rank = c.input(0).has_rank() ? c.rank(0) : c.dim(1, 0);
  if (rank < 0 || rank > kMaxRank) return absl::OkStatus();
  Dims dims(static_cast<size_t>(rank), kUnknownDim);
  const std::vector<int64_t> paddings = c.const_matrix(1);
  for (size_t i = 0; paddings.size() == 2 * dims.size() && i < dims.size(); ++i) {
    const int64_t before = paddings[2 * i], after = paddings[2 * i + 1];
    if (before < 0 || after < 0) return c.ValueError(1, absl::StrCat("a padding of dimension ", i, " is negative"));
    const int64_t size = c.dim(0, static_cast<int>(i));
    const int64_t both = AddDims(before, after);
    dims[i] = shrink ? SubDims(size, both) : AddDims(size, both);
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status Pad(InferenceContext& c) { return Padded(c, false); }
absl::Status MirrorPadGrad(InferenceContext& c) { return Padded(c, true); }

constexpr ShapeRow kRows[] = {
    {"Concat", &Concat},
    {"ConcatOffset", &ConcatOffset},
    {"ConcatV2", &ConcatV2},
    {"MirrorPad", &Pad},
    {"MirrorPadGrad", &MirrorPadGrad},
    {"Pack", &Pack},
    {"Pad", &Pad},
    {"PadV2", &Pad},
    {"Split", &Split},
    {"SplitV", &SplitV},
    {"Tile", &Tile},
    {"Unpack", &Unpack},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> JoinSplitRows() { return kRows; }

}  // namespace sluice

// Shapes of ops that cut out a part of a tensor or write to one.

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"
#include "graph/shapes/strided_slice.h"

namespace sluice {
namespace {

absl::Status StridedSlice(InferenceContext& c) {
  std::vector<SliceAxis> axes;
  bool known;
  SLUICE_RETURN_IF_ERROR(ResolveStridedSlice(c, c.input(0), 1, &axes, &known));
  if (!known) return absl::OkStatus();
  Dims dims;
  for (const SliceAxis& axis : axes) {
    if (!axis.shrunk) dims.push_back(axis.size);
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

// Input 0 is changed in part and handed on; begin, end and strides follow it.
absl::Status StridedSliceUpdate(InferenceContext& c) {
  c.Set(0, c.input(0));
  std::vector<SliceAxis> axes;
  bool known;
  return ResolveStridedSlice(c, c.input(0), 1, &axes, &known);
}

absl::Status Slice(InferenceContext& c) {
  int64_t length = kUnknownDim;
  for (const int i : {1, 2}) {
    const int64_t own = c.dim(i, 0);
    if (c.input(0).has_rank() && DimsDiffer(own, c.rank(0))) {
      return c.RankError(0, absl::StrCat("rank ", own, ", the length of input ", i));
    }
    length = EitherDim(length, own);
  }
  const int64_t rank = c.input(0).has_rank() ? c.rank(0) : length;
  if (rank < 0 || rank > kMaxRank) return absl::OkStatus();
  Dims dims(static_cast<size_t>(rank), kUnknownDim);
  const ShapeValue* begins = c.value(1);
  const ShapeValue* sizes = c.value(2);
  for (size_t i = 0; sizes != nullptr && sizes->size() == dims.size() && i < dims.size(); ++i) {
    const int64_t begin = begins != nullptr && begins->size() == dims.size() ? (*begins)[i] : kUnknownValue;
    const int64_t size = (*sizes)[i], whole = c.dim(0, static_cast<int>(i));
    if (size == kUnknownValue) {
      dims[i] = sizes->SizeAt(i);
      continue;
    }
    dims[i] = size == -1 ? SubDims(whole, begin) : DimOrUnknown(size);
    if (begin == kUnknownValue || whole < 0) continue;
    if (begin < 0 || begin > whole || size < -1 || (size >= 0 && size > whole - begin)) {
      return c.ValueError(2, absl::StrCat("elements ", begin, " to ", begin, "+", size, " of dimension ", i,
                                          " of size ", whole, " do not exist"));
    }
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status ReverseSequence(InferenceContext& c) {
  const int64_t batch = c.Int("batch_dim"), sequence = c.Int("seq_dim");
  if (batch == sequence) return c.AttrError("seq_dim", absl::StrCat("is the batch dimension, ", batch));
  if (c.input(0).has_rank() && std::max(batch, sequence) >= c.rank(0)) {
    return c.RankError(0, absl::StrCat("a rank above ", std::max(batch, sequence)));
  }
  return SameAsInput0(c);
}

absl::Status ReverseV2(InferenceContext& c) {
  const ShapeValue* axes = c.value(1);
  for (size_t i = 0; axes != nullptr && c.rank(0) > 0 && i < axes->size(); ++i) {
    int axis;
    if ((*axes)[i] != kUnknownValue) SLUICE_RETURN_IF_ERROR(c.NormalizeAxis((*axes)[i], c.rank(0), 1, &axis));
  }
  return SameAsInput0(c);
}

constexpr ShapeRow kRows[] = {
    {"Reverse", &SameAsInput0},
    {"ReverseSequence", &ReverseSequence},
    {"ReverseV2", &ReverseV2},
    {"Roll", &SameAsInput0},
    {"Slice", &Slice},
    {"StridedSlice", &StridedSlice},
    {"StridedSliceAssign", &StridedSliceUpdate},
    {"StridedSliceGrad", &ShapeInInput0},
    {"TensorStridedSliceUpdate", &StridedSliceUpdate},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> SliceRows() { return kRows; }

}  // namespace sluice

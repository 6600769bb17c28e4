#include "kernels/array/slice_index.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

// "[1,7]": row `row` of the indices.
std::string RowText(const Tensor& indices, int64_t row, int64_t depth) {
  std::string text = "[";
  for (int64_t i = 0; i < depth; ++i) absl::StrAppend(&text, i == 0 ? "" : ",", IndexAt(indices, row * depth + i));
  return text + "]";
}

}  // namespace

absl::StatusOr<SliceIndex> ReadSliceIndex(const KernelContext& context, int indices_input, absl::string_view name,
                                          const Shape& whole, VectorIndices vector, OnBadIndex bad) {
  const Tensor& indices = context.input(indices_input);
  const bool is_list = vector == VectorIndices::kRows && indices.rank() == 1;
  const int last = is_list ? 1 : indices.rank() - 1;  // Axes of the indices that are in the result.
  const int64_t depth = is_list ? 1 : last < 0 ? 0 : indices.dim(last);
  if (last < 0 || depth > whole.rank()) {
    return ShapeError(indices_input, name, indices.shape(),
                      absl::StrCat("rows of at most ", whole.rank(), " indices, for shape ", whole.ToString()));
  }
  SliceIndex index;
  IndexVector dims(indices.shape().dims().begin(), indices.shape().dims().begin() + last);
  dims.insert(dims.end(), whole.dims().begin() + depth, whole.dims().end());
  SLUICE_ASSIGN_OR_RETURN(index.shape, MakeShape(dims));
  index.slice_size = SizeOfAxes(whole, static_cast<int>(depth), whole.rank());
  index.num_rows = SizeOfAxes(indices.shape(), 0, last);
  // Without an index, rows take no memory: there may be more of them than any memory holds.
  if (depth == 0) return index;
  index.slices.resize(static_cast<size_t>(index.num_rows));
  for (int64_t row = 0; row < index.num_rows; ++row) {
    int64_t slice = 0;
    bool is_inside = true;
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t at = IndexAt(indices, row * depth + i);
      const int64_t size = whole.dim(static_cast<int>(i));
      is_inside &= at >= 0 && at < size;
      slice = is_inside ? slice * size + at : 0;
    }
    if (!is_inside && bad == OnBadIndex::kError) {
      return ValueError(indices_input, name, absl::StrCat("indices ", RowText(indices, row, depth), " in row ", row),
                        absl::StrCat("a place in shape ", whole.ToString()));
    }
    index.slices[static_cast<size_t>(row)] = is_inside ? slice : -1;
  }
  return index;
}

}  // namespace sluice

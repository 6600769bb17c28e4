#ifndef SLUICE_KERNELS_ARRAY_SLICE_INDEX_H_
#define SLUICE_KERNELS_ARRAY_SLICE_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/shape.h"
#include "kernels/array/on_bad_index.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The indices of GatherNd, ScatterNd and their relatives: each row of the last dimension names a slice of a tensor by
// the first few of its coordinates. A value type.
struct SliceIndex {
  int64_t num_rows = 0;         // Of indices.
  std::vector<int64_t> slices;  // One number per row; none where rows have no index: each names the whole tensor.
  int64_t slice_size = 1;       // Elements of one slice.
  Shape shape;                  // Of all slices that are named, together: indices without the last dimension + slice.

  // The number of the slice that `row` names; -1 for one that is skipped.
  int64_t slice(int64_t row) const { return slices.empty() ? 0 : slices[static_cast<size_t>(row)]; }
};

// How a vector of indices is read: as one row, or as a list of rows of one index each.
enum class VectorIndices { kOneRow, kRows };

// Reads input `indices_input` (called `name`) as indices into a tensor of shape `whole`. kOpShape when it has no
// dimensions or its rows are longer than `whole` has, kOpValue for a row that leads out of `whole`, unless such are
// skipped.
absl::StatusOr<SliceIndex> ReadSliceIndex(const KernelContext& context, int indices_input, absl::string_view name,
                                          const Shape& whole, VectorIndices vector = VectorIndices::kOneRow,
                                          OnBadIndex bad = OnBadIndex::kError);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_SLICE_INDEX_H_

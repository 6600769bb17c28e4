#ifndef SLUICE_KERNELS_SPARSE_SPARSE_ROWS_H_
#define SLUICE_KERNELS_SPARSE_SPARSE_ROWS_H_

// The rows of a sparse tensor along its first axis as sparse tensors of their own, and the reverse.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/value/tensor.h"
#include "kernels/array/index_values.h"
#include "kernels/kernel_context.h"
#include "kernels/sparse/sparse_input.h"

namespace sluice {

// A sparse tensor that owns its parts: indices [entries, rank] of int64, values [entries], rank sizes.
struct SparseParts {
  Tensor indices, values;
  IndexVector dims;

  int64_t entries() const { return indices.dim(0); }
  int rank() const { return static_cast<int>(dims.size()); }
};

// Entries [begin, end) of a sparse tensor, all in row `row`.
struct RowEntries {
  int64_t row = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// The runs of entries of one row, in the order of the entries. kOpValue for a row outside of the shape, kOpShape for a
// tensor without another axis. Lists no empty rows: a shape may claim any number of them at no cost.
absl::StatusOr<std::vector<RowEntries>> FindRows(const SparseInput& sparse);

// The entries of a run as a sparse tensor without the first axis, in memory of its own.
absl::StatusOr<SparseParts> CopyRow(KernelContext& context, const SparseInput& sparse, const RowEntries& run);

// kOpShape, kOpShapes or kOpValue unless the three tensors, of input `input`, make a sparse tensor with values of
// `dtype`. `number` says which it is of several.
absl::StatusOr<SparseParts> MakeParts(Tensor indices, Tensor values, const Tensor& shape, DType dtype, int input,
                                      int64_t number);

// Outputs 0, 1 and 2: the tensors at `parts`, as many as `batch` has elements, as the rows of one. Each size is that of
// the largest. kOpShapes where their ranks differ; kOpTooLarge. REQUIRES: one tensor or more.
absl::Status OutputJoined(KernelContext& context, absl::Span<const SparseParts* const> parts, const Shape& batch);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SPARSE_SPARSE_ROWS_H_

#ifndef SLUICE_KERNELS_RNN_CELL_PRODUCT_H_
#define SLUICE_KERNELS_RNN_CELL_PRODUCT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/kernel_context.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/packed_matrix.h"

namespace sluice {

// One product C[m,n] = A[m,k] * B[k,n] of a recurrent cell; A or B may be the transpose of what is in memory. Borrowed.
struct CellProduct {
  GemmSize size;
  const float* a = nullptr;
  const float* b = nullptr;
  bool transpose_a = false;
  bool transpose_b = false;
  const PackedMatrix* packed_b = nullptr;  // B once more, packed. Null: none.
};

// Carries it out on the threads of the run; C is zero where k is 0. kOutOfMemory when memory for packed parts is short.
absl::Status Multiply(KernelContext& context, const CellProduct& product, float* c);

// Packs a B that many products have in common, where that pays: `matrix` has as many rows as `layout` says, or columns
// where that is transposed.
absl::StatusOr<PackedMatrix> PackForSteps(KernelContext& context, const Tensor& matrix, const PackedLayout& layout,
                                          int64_t rows_of_a, int64_t num_products);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RNN_CELL_PRODUCT_H_

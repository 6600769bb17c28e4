#ifndef SLUICE_KERNELS_LINALG_FAMILIES_H_
#define SLUICE_KERNELS_LINALG_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Einsum of one or two inputs: diagonals, sums and transposes first, then one product of stacks of matrices.
SLUICE_AT_START absl::Span<const KernelRow> EinsumKernels();
// _FusedMatMul: a product, a bias for each column, and an activation.
SLUICE_AT_START absl::Span<const KernelRow> FusedMatMulKernels();
// MatMul, BatchMatMul, BatchMatMulV2, BatchMatMulV3.
SLUICE_AT_START absl::Span<const KernelRow> MatMulKernels();
// SparseMatMul: zeros of a marked matrix are left out.
SLUICE_AT_START absl::Span<const KernelRow> SparseMatMulKernels();

// Adds all of them.
SLUICE_AT_START void AddLinalgKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_FAMILIES_H_

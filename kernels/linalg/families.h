#ifndef SLUICE_KERNELS_LINALG_FAMILIES_H_
#define SLUICE_KERNELS_LINALG_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Einsum of one or two inputs: diagonals, sums and transposes first, then one product of stacks of matrices.
absl::Span<const KernelRow> EinsumKernels();
// _FusedMatMul: a product, a bias for each column, and an activation.
absl::Span<const KernelRow> FusedMatMulKernels();
// MatMul, BatchMatMul, BatchMatMulV2, BatchMatMulV3.
absl::Span<const KernelRow> MatMulKernels();

// Adds all of them.
void AddLinalgKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_FAMILIES_H_

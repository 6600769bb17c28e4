#ifndef SLUICE_KERNELS_LINALG_EINSUM_H_
#define SLUICE_KERNELS_LINALG_EINSUM_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Einsum of one or two inputs: diagonals, sums and transposes first, then one product of stacks of matrices.
absl::Span<const KernelDef> EinsumKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_EINSUM_H_

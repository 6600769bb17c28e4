#ifndef SLUICE_KERNELS_LINALG_FUSED_MATMUL_H_
#define SLUICE_KERNELS_LINALG_FUSED_MATMUL_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// _FusedMatMul: a product, a bias for each column, and an activation.
absl::Span<const KernelDef> FusedMatMulKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_FUSED_MATMUL_H_

#ifndef SLUICE_KERNELS_LINALG_MATMUL_H_
#define SLUICE_KERNELS_LINALG_MATMUL_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// MatMul, BatchMatMul, BatchMatMulV2, BatchMatMulV3.
absl::Span<const KernelDef> MatMulKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_MATMUL_H_

#ifndef SLUICE_KERNELS_MATH_L2_LOSS_H_
#define SLUICE_KERNELS_MATH_L2_LOSS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// L2Loss.
absl::Span<const KernelDef> L2LossKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_L2_LOSS_H_

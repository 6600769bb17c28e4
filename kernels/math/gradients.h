#ifndef SLUICE_KERNELS_MATH_GRADIENTS_H_
#define SLUICE_KERNELS_MATH_GRADIENTS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Gradient ops that are one formula per element: ReluGrad, TanhGrad, SqrtGrad, ...
absl::Span<const KernelDef> GradientKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_GRADIENTS_H_

#ifndef SLUICE_KERNELS_MATH_SOFTMAX_H_
#define SLUICE_KERNELS_MATH_SOFTMAX_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Softmax and LogSoftmax.
absl::Span<const KernelDef> SoftmaxKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_SOFTMAX_H_

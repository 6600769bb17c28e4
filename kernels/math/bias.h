#ifndef SLUICE_KERNELS_MATH_BIAS_H_
#define SLUICE_KERNELS_MATH_BIAS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// BiasAdd, BiasAddV1. Their gradient, a sum, is in kernels/reduce.
absl::Span<const KernelDef> BiasKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_BIAS_H_

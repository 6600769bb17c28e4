#ifndef SLUICE_KERNELS_MATH_ACTIVATION_H_
#define SLUICE_KERNELS_MATH_ACTIVATION_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Relu and its kin, Tanh, Sigmoid, Softplus; LeakyReluGrad.
absl::Span<const KernelDef> ActivationKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_ACTIVATION_H_

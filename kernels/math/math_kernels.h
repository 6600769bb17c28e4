#ifndef SLUICE_KERNELS_MATH_MATH_KERNELS_H_
#define SLUICE_KERNELS_MATH_MATH_KERNELS_H_

#include "kernels/kernel_registry.h"

namespace sluice {

// Adds the tables of all elementwise ops.
void AddMathKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_MATH_KERNELS_H_

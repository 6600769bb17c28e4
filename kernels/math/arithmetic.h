#ifndef SLUICE_KERNELS_MATH_ARITHMETIC_H_
#define SLUICE_KERNELS_MATH_ARITHMETIC_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Sums, differences, products, quotients of floats, extremes, and strings put together: Add, AddV2, Sub, Mul, ...
absl::Span<const KernelDef> ArithmeticKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_ARITHMETIC_H_

#ifndef SLUICE_KERNELS_MATH_COMPARISON_H_
#define SLUICE_KERNELS_MATH_COMPARISON_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual, ApproximateEqual.
absl::Span<const KernelDef> ComparisonKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_COMPARISON_H_

#ifndef SLUICE_KERNELS_MATH_SPECIAL_H_
#define SLUICE_KERNELS_MATH_SPECIAL_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Special functions: Erf, Erfinv, Lgamma, Digamma, Igamma, Zeta, Polygamma, Betainc, ...
absl::Span<const KernelDef> SpecialKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_SPECIAL_H_

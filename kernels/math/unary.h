#ifndef SLUICE_KERNELS_MATH_UNARY_H_
#define SLUICE_KERNELS_MATH_UNARY_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops of one input whose result has its dtype: Abs, Neg, Square, Sqrt, Exp, Log, Floor, Round, ...
absl::Span<const KernelDef> UnaryKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_UNARY_H_

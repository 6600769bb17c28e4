#ifndef SLUICE_KERNELS_MATH_TRIGONOMETRY_H_
#define SLUICE_KERNELS_MATH_TRIGONOMETRY_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Sin, Cos, Tan, their hyperbolic forms, and the inverses of all.
absl::Span<const KernelDef> TrigonometryKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_TRIGONOMETRY_H_

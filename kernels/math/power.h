#ifndef SLUICE_KERNELS_MATH_POWER_H_
#define SLUICE_KERNELS_MATH_POWER_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Pow, Atan2, NextAfter, Xdivy, Xlogy, Xlog1py.
absl::Span<const KernelDef> PowerKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_POWER_H_

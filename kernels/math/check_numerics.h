#ifndef SLUICE_KERNELS_MATH_CHECK_NUMERICS_H_
#define SLUICE_KERNELS_MATH_CHECK_NUMERICS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// CheckNumerics and CheckNumericsV2.
absl::Span<const KernelDef> CheckNumericsKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_CHECK_NUMERICS_H_

#ifndef SLUICE_KERNELS_MATH_BITCAST_H_
#define SLUICE_KERNELS_MATH_BITCAST_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Bitcast.
absl::Span<const KernelDef> BitcastKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_BITCAST_H_

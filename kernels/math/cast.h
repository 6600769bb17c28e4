#ifndef SLUICE_KERNELS_MATH_CAST_H_
#define SLUICE_KERNELS_MATH_CAST_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Cast and Bitcast.
absl::Span<const KernelDef> CastKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_CAST_H_

#ifndef SLUICE_KERNELS_MATH_SELECT_H_
#define SLUICE_KERNELS_MATH_SELECT_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Select, SelectV2 and ClipByValue.
absl::Span<const KernelDef> SelectKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_SELECT_H_

#ifndef SLUICE_KERNELS_REDUCE_EXTREME_H_
#define SLUICE_KERNELS_REDUCE_EXTREME_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Reductions that choose: Max, Min, and of bools All, Any.
absl::Span<const KernelDef> ExtremeKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_EXTREME_H_

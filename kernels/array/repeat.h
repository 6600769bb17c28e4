#ifndef SLUICE_KERNELS_ARRAY_REPEAT_H_
#define SLUICE_KERNELS_ARRAY_REPEAT_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops that repeat elements: Tile, BroadcastTo.
absl::Span<const KernelDef> RepeatKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_REPEAT_H_

#ifndef SLUICE_KERNELS_ARRAY_DYNAMIC_STITCH_H_
#define SLUICE_KERNELS_ARRAY_DYNAMIC_STITCH_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Rows dealt out by number and put together again: DynamicPartition, DynamicStitch, ParallelDynamicStitch.
absl::Span<const KernelDef> DynamicStitchKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_DYNAMIC_STITCH_H_

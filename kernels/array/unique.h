#ifndef SLUICE_KERNELS_ARRAY_UNIQUE_H_
#define SLUICE_KERNELS_ARRAY_UNIQUE_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// What is there more than once: Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2, ListDiff.
absl::Span<const KernelDef> UniqueKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_UNIQUE_H_

#ifndef SLUICE_KERNELS_ARRAY_SEARCH_H_
#define SLUICE_KERNELS_ARRAY_SEARCH_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Positions from values and coordinates from positions: LowerBound, UpperBound, UnravelIndex.
absl::Span<const KernelDef> SearchKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_SEARCH_H_

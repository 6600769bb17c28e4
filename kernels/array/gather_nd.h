#ifndef SLUICE_KERNELS_ARRAY_GATHER_ND_H_
#define SLUICE_KERNELS_ARRAY_GATHER_ND_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Picking and placing slices by their coordinates: GatherNd, ScatterNd, TensorScatterUpdate and its kin.
absl::Span<const KernelDef> GatherNdKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_GATHER_ND_H_

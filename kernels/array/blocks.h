#ifndef SLUICE_KERNELS_ARRAY_BLOCKS_H_
#define SLUICE_KERNELS_ARRAY_BLOCKS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Blocks of space moved into the batch or into the depth, and back: SpaceToBatch(ND), BatchToSpace(ND), SpaceToDepth,
// DepthToSpace.
absl::Span<const KernelDef> BlockKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_BLOCKS_H_

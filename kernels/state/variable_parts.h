#ifndef SLUICE_KERNELS_STATE_VARIABLE_PARTS_H_
#define SLUICE_KERNELS_STATE_VARIABLE_PARTS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Parts of variables read and written: ResourceGather, ResourceGatherNd, StridedSliceAssign,
// ResourceStridedSliceAssign.
absl::Span<const KernelDef> VariablePartsKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_VARIABLE_PARTS_H_

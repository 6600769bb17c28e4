#ifndef SLUICE_KERNELS_STATE_RESOURCE_VARIABLES_H_
#define SLUICE_KERNELS_STATE_RESOURCE_VARIABLES_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Variables behind handles: VarHandleOp, ReadVariableOp, _ReadVariablesOp, AssignVariableOp,
// AssignAddVariableOp, AssignSubVariableOp, VarIsInitializedOp, VariableShape, ResourceCountUpTo, DestroyResourceOp.
absl::Span<const KernelDef> ResourceVariableKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_RESOURCE_VARIABLES_H_

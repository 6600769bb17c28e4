#ifndef SLUICE_KERNELS_STATE_FAMILIES_H_
#define SLUICE_KERNELS_STATE_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Variables that travel as references: Variable, VariableV2, TemporaryVariable, DestroyTemporaryVariable, Assign,
// AssignAdd, AssignSub, IsVariableInitialized, CountUpTo, RefSelect.
SLUICE_AT_START absl::Span<const KernelRow> RefVariableKernels();
// Variables behind handles: VarHandleOp, ReadVariableOp, _ReadVariablesOp, AssignVariableOp,
// AssignAddVariableOp, AssignSubVariableOp, VarIsInitializedOp, VariableShape, ResourceCountUpTo, DestroyResourceOp.
SLUICE_AT_START absl::Span<const KernelRow> ResourceVariableKernels();
// Updates of some rows or elements of a variable: Scatter{Update,Add,Sub,Mul,Div,Min,Max} and
// ScatterNd{Update,Add,Sub,Min,Max} on references, and the same with Resource in front on handles.
SLUICE_AT_START absl::Span<const KernelRow> ScatterKernels();
// Tensors that a session keeps between runs: GetSessionHandle, GetSessionHandleV2, GetSessionTensor,
// DeleteSessionTensor.
SLUICE_AT_START absl::Span<const KernelRow> SessionHandleKernels();
// Stack, StackPush, StackPop, StackClose and their V2 forms.
SLUICE_AT_START absl::Span<const KernelRow> StackKernels();
// One element at a time, in all three forms (TensorArray, ...V2, ...V3): TensorArray, Grad, GradWithShape, Write, Read,
// Size, Close.
SLUICE_AT_START absl::Span<const KernelRow> TensorArrayKernels();
// Many elements of a TensorArray as rows of one tensor, in all three forms: Gather, Scatter, Concat, Split, and the
// early Pack and Unpack.
SLUICE_AT_START absl::Span<const KernelRow> TensorArrayRowsKernels();
// Parts of variables read and written: ResourceGather, ResourceGatherNd, StridedSliceAssign,
// ResourceStridedSliceAssign.
SLUICE_AT_START absl::Span<const KernelRow> VariablePartsKernels();

// Adds all of them.
SLUICE_AT_START void AddStateKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_FAMILIES_H_

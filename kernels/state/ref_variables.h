#ifndef SLUICE_KERNELS_STATE_REF_VARIABLES_H_
#define SLUICE_KERNELS_STATE_REF_VARIABLES_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Variables that travel as references: Variable, VariableV2, TemporaryVariable, DestroyTemporaryVariable, Assign,
// AssignAdd, AssignSub, IsVariableInitialized, CountUpTo, RefSelect.
absl::Span<const KernelDef> RefVariableKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_REF_VARIABLES_H_

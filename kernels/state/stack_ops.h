#ifndef SLUICE_KERNELS_STATE_STACK_OPS_H_
#define SLUICE_KERNELS_STATE_STACK_OPS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Stack, StackPush, StackPop, StackClose and their V2 forms.
absl::Span<const KernelDef> StackKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_STACK_OPS_H_

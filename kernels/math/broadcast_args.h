#ifndef SLUICE_KERNELS_MATH_BROADCAST_ARGS_H_
#define SLUICE_KERNELS_MATH_BROADCAST_ARGS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Of shapes as values: BroadcastArgs, BroadcastGradientArgs.
absl::Span<const KernelDef> BroadcastArgsKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_BROADCAST_ARGS_H_

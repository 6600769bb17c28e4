#ifndef SLUICE_KERNELS_ARRAY_REVERSE_H_
#define SLUICE_KERNELS_ARRAY_REVERSE_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops that move elements along axes: Reverse, ReverseV2, ReverseSequence, Roll.
absl::Span<const KernelDef> ReverseKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_REVERSE_H_

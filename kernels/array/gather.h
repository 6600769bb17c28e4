#ifndef SLUICE_KERNELS_ARRAY_GATHER_H_
#define SLUICE_KERNELS_ARRAY_GATHER_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops that pick rows by their number: Gather, GatherV2.
absl::Span<const KernelDef> GatherKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_GATHER_H_

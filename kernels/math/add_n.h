#ifndef SLUICE_KERNELS_MATH_ADD_N_H_
#define SLUICE_KERNELS_MATH_ADD_N_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// AddN, AccumulateNV2 and GradSum.
absl::Span<const KernelDef> AddNKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_ADD_N_H_

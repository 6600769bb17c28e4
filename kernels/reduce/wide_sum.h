#ifndef SLUICE_KERNELS_REDUCE_WIDE_SUM_H_
#define SLUICE_KERNELS_REDUCE_WIDE_SUM_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Sums of floats that are carried in double: BiasAddGrad, L2Loss.
absl::Span<const KernelDef> WideSumKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_WIDE_SUM_H_

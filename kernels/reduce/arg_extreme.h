#ifndef SLUICE_KERNELS_REDUCE_ARG_EXTREME_H_
#define SLUICE_KERNELS_REDUCE_ARG_EXTREME_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Where the largest or smallest element stands: ArgMax, ArgMin.
absl::Span<const KernelDef> ArgExtremeKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_ARG_EXTREME_H_

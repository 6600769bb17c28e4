#ifndef SLUICE_KERNELS_REDUCE_SUM_H_
#define SLUICE_KERNELS_REDUCE_SUM_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Reductions that add: Sum, Mean. Floats in pairs, see Note [Pairwise sums].
absl::Span<const KernelDef> SumKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_SUM_H_

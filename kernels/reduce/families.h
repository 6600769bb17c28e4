#ifndef SLUICE_KERNELS_REDUCE_FAMILIES_H_
#define SLUICE_KERNELS_REDUCE_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Where the largest or smallest element stands: ArgMax, ArgMin.
SLUICE_AT_START absl::Span<const KernelRow> ArgExtremeKernels();
// Reductions that choose: Max, Min, and of bools All, Any.
SLUICE_AT_START absl::Span<const KernelRow> ExtremeKernels();
// Reductions that multiply: Prod, EuclideanNorm.
SLUICE_AT_START absl::Span<const KernelRow> ProductKernels();
// Running sums and products: Cumsum, Cumprod, CumulativeLogsumexp.
SLUICE_AT_START absl::Span<const KernelRow> ScanKernels();
// Reductions of rows by group: SegmentSum, SegmentMean, SegmentProd, SegmentMin, SegmentMax (groups in order) and
// UnsortedSegmentSum, UnsortedSegmentProd, UnsortedSegmentMin, UnsortedSegmentMax.
SLUICE_AT_START absl::Span<const KernelRow> SegmentKernels();
// Reductions that add: Sum, Mean. Floats in pairs, see Note [Pairwise sums].
SLUICE_AT_START absl::Span<const KernelRow> SumKernels();
// Sums of floats that are carried in double: BiasAddGrad, L2Loss.
SLUICE_AT_START absl::Span<const KernelRow> WideSumKernels();

// Adds all of them.
SLUICE_AT_START void AddReduceKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_FAMILIES_H_

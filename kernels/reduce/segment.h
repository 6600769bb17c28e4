#ifndef SLUICE_KERNELS_REDUCE_SEGMENT_H_
#define SLUICE_KERNELS_REDUCE_SEGMENT_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Reductions of rows by group: SegmentSum, SegmentMean, SegmentProd, SegmentMin, SegmentMax (groups in order) and
// UnsortedSegmentSum, UnsortedSegmentProd, UnsortedSegmentMin, UnsortedSegmentMax.
absl::Span<const KernelDef> SegmentKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_SEGMENT_H_

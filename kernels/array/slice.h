#ifndef SLUICE_KERNELS_ARRAY_SLICE_H_
#define SLUICE_KERNELS_ARRAY_SLICE_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops that cut a box out of a tensor, or put one in: Slice, StridedSlice, StridedSliceGrad, TensorStridedSliceUpdate.
absl::Span<const KernelDef> SliceKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_SLICE_H_

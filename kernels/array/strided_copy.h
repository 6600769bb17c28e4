#ifndef SLUICE_KERNELS_ARRAY_STRIDED_COPY_H_
#define SLUICE_KERNELS_ARRAY_STRIDED_COPY_H_

// The one engine of all ops that move elements by a rule of strides: Slice, StridedSlice and its gradient, Transpose,
// Reverse, ConcatV2, Split, Pack, Tile, BroadcastTo, Pad, Roll, diagonals, space and depth.

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "graph/value/dtype.h"
#include "kernels/kernel_context.h"

namespace sluice {

// One loop of a copy: `size` steps, each of `to` elements in the result and `from` elements in the source. Strides may
// be negative; a `from` of 0 repeats an element.
struct CopyAxis {
  int64_t size = 0;
  int64_t to = 0;
  int64_t from = 0;
};
using CopyAxes = absl::InlinedVector<CopyAxis, 8>;

// Copies the elements that the loops (outermost first) visit, starting at element `to_offset` of `to` and
// `from_offset` of `from`. Neighbouring loops that are one are joined, runs become memcpy, a copy that goes along the
// rows of one side and the columns of the other goes in blocks; large copies are spread over threads.
// REQUIRES: both tensors have the same dtype and all visited elements; none is written twice; they share no memory.
void CopyStrided(const KernelContext& context, absl::Span<const CopyAxis> axes, Tensor& to, int64_t to_offset,
                 const Tensor& from, int64_t from_offset);

// Sets all elements of `to` to element 0 of `value`, of the same dtype.
void FillElements(const KernelContext& context, Tensor& to, const Tensor& value);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_STRIDED_COPY_H_

#ifndef SLUICE_KERNELS_ARRAY_STRIDED_REGION_H_
#define SLUICE_KERNELS_ARRAY_STRIDED_REGION_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "graph/value/shape.h"
#include "kernels/array/strided_copy.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The mask attrs that StridedSlice and its relatives have, one bit per spec. A value type.
struct SliceMasks {
  static absl::StatusOr<SliceMasks> Read(const KernelConstruction& construction);

  uint32_t begin = 0;     // From the first element on.
  uint32_t end = 0;       // Up to the last.
  uint32_t ellipsis = 0;  // Stands for all dimensions that no other spec speaks of.
  uint32_t new_axis = 0;  // A new dimension of size 1.
  uint32_t shrink = 0;    // One index, whose dimension is dropped.
};

// The elements that a strided slice takes of one dimension: `begin`, `begin` + `stride`, ... , `size` of them.
struct SliceRange {
  int64_t begin = 0;
  int64_t stride = 1;
  int64_t size = 0;
};

// The elements of a tensor that a strided slice selects. A value type.
struct StridedRegion {
  absl::InlinedVector<SliceRange, 8> ranges;  // One per dimension of the whole tensor.
  absl::InlinedVector<int, 8> kept;           // For each of them the dimension of the slice that it becomes, or -1.
  Shape shape;                                // Of the slice: new dimensions in, dropped ones out.

  // Whether all elements are taken, in their order.
  bool IsWhole(const Shape& whole) const;
  // The position in a tensor of shape `whole` of the first element taken. 0 when nothing is.
  int64_t Offset(const Shape& whole) const;
  // Loops that copy the slice out of (`to_slice`), or from a packed slice into, a tensor of shape `whole`.
  CopyAxes Axes(const Shape& whole, bool to_slice) const;
  // Loops that copy a tensor of shape `value`, broadcast to the shape of the slice, into a tensor of shape `whole`.
  // kOpShape when it cannot be broadcast; leading dimensions of size 1 may be too many. Into a slice without elements
  // everything fits.
  absl::StatusOr<CopyAxes> AxesOfUpdate(const Shape& whole, const Shape& value) const;
};

// Reads begin, end and strides from inputs `first`, `first` + 1 and `first` + 2, and applies them to a tensor of shape
// `whole`. kOpShape unless they are vectors of one size, kOpValue for a stride of 0 or an index out of range.
absl::StatusOr<StridedRegion> ReadStridedRegion(const KernelContext& context, int first, const SliceMasks& masks,
                                                const Shape& whole);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_STRIDED_REGION_H_

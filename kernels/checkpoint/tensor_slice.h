#ifndef SLUICE_KERNELS_CHECKPOINT_TENSOR_SLICE_H_
#define SLUICE_KERNELS_CHECKPOINT_TENSOR_SLICE_H_

// Parts of tensors, as checkpoints store them and as the savers' shape_and_slices name them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {

// The range of one axis in a slice: `length` elements from `start` on.
struct SliceExtent {
  static constexpr int64_t kAll = -1;  // As a length, with a start of 0: the whole axis, whatever its size.

  int64_t start = 0;
  int64_t length = kAll;

  bool is_all() const { return length == kAll; }
  friend bool operator==(const SliceExtent& a, const SliceExtent& b) {
    return a.start == b.start && a.length == b.length;
  }
};

// One extent per axis.
using TensorSlice = absl::InlinedVector<SliceExtent, 4>;

// A slice with the shape of the tensor that it is of: no extent is_all(), all lie within the shape.
struct SliceBox {
  TensorSlice extents;
  Shape full_shape;
  Shape shape;

  bool IsWhole() const { return shape == full_shape; }
};

// The whole of a tensor.
TensorSlice WholeSlice(int rank);

// "0,3:-": start and length per axis, or "-" for all of it. kCheckpointSlice.
absl::StatusOr<TensorSlice> ParseSlice(absl::string_view text);
std::string SliceText(const TensorSlice& slice);

// Of a tensor of shape `full`. INTERNAL, as TensorFlow answers, where ranks differ or the slice leads out of it.
absl::StatusOr<SliceBox> BoxOf(const TensorSlice& slice, const Shape& full);

// One element of shape_and_slices that is not empty: "6 4 0,3:-", the full shape and the slice. kCheckpointSlice where
// it cannot be read; the errors of BoxOf.
struct SliceSpec {
  TensorSlice slice;
  SliceBox box;
};
absl::StatusOr<SliceSpec> ParseSliceSpec(absl::string_view spec);

// The message TensorSliceProto. Reading: kCheckpointDamaged.
absl::StatusOr<TensorSlice> ReadSliceProto(WireReader reader);
void WriteSliceProto(uint32_t field, const TensorSlice& slice, WireWriter* writer);

// The key under which a checkpoint stores the slice of tensor `name`: such keys begin with a zero byte and sort by
// name, then by where the slice is.
std::string SliceKey(absl::string_view name, const TensorSlice& slice);

// Whether the boxes, of one shape, have an element in common; `common` (may be null) becomes the box of those.
bool Intersect(const SliceBox& a, const SliceBox& b, SliceBox* common);

// OK where the boxes, all of one shape, hold each element of `wanted` and no element twice. INTERNAL for two that
// overlap, kCheckpointSlice for elements that are missing. Few boxes are cheap, 10,000 of them cost a second at worst.
absl::Status CheckCover(absl::Span<const SliceBox> boxes, const SliceBox& wanted);

// Returns the offset of the elements of `part` in a tensor that holds `box`, if they are contiguous there; else -1.
// REQUIRES: `part` lies in `box`.
int64_t ContiguousOffset(const SliceBox& part, const SliceBox& box);

// Copies the elements that `from`, which holds `from_box`, and `to`, which holds `to_box`, have in common.
// REQUIRES: the same dtype; plain elements or strings; the shapes of the boxes.
void CopyCommon(const Tensor& from, const SliceBox& from_box, const SliceBox& to_box, Tensor* to);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_TENSOR_SLICE_H_

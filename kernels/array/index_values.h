#ifndef SLUICE_KERNELS_ARRAY_INDEX_VALUES_H_
#define SLUICE_KERNELS_ARRAY_INDEX_VALUES_H_

// Sizes, axes and indices that come as inputs, of int32 or int64 (int16, too, where an op allows it). Everything here
// answers what is wrong with the number and the name of the input: "input 1 'axis': found 4, expected -2 to 1".

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/value/shape.h"
#include "kernels/kernel_context.h"

namespace sluice {

// One number per dimension: on the stack for the usual ranks.
using IndexVector = absl::InlinedVector<int64_t, 8>;

// Element `i` of a tensor of integers that int64 holds. REQUIRES: such a dtype.
inline int64_t IndexAt(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kInt32:
      return static_cast<const int32_t*>(tensor.raw_data())[i];
    case DType::kInt64:
      return static_cast<const int64_t*>(tensor.raw_data())[i];
    case DType::kInt16:
      return static_cast<const int16_t*>(tensor.raw_data())[i];
    case DType::kUInt16:
      return static_cast<const uint16_t*>(tensor.raw_data())[i];
    case DType::kInt8:
      return static_cast<const int8_t*>(tensor.raw_data())[i];
    case DType::kUInt8:
      return static_cast<const uint8_t*>(tensor.raw_data())[i];
    case DType::kUInt32:
      return static_cast<const uint32_t*>(tensor.raw_data())[i];
    default:
      SLUICE_DCHECK(false);
      return -1;  // Nowhere an index or a size.
  }
}

// The other way round: `value` to element `i`. REQUIRES: a dtype of outputs of indices (16 bits, int32, int64).
inline void SetIndexAt(Tensor& tensor, int64_t i, int64_t value) {
  void* const data = tensor.mutable_raw_data();
  switch (DTypeSize(tensor.dtype())) {
    case 2:
      static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(value);
      return;
    case 4:
      static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value);
      return;
    default:
      static_cast<int64_t*>(data)[i] = value;
  }
}

// Which ranks a list may have.
enum class ListRank {
  kVector,          // A vector.
  kScalarOrVector,  // A scalar counts as a vector of one, as early graphs have it.
  kAny,             // All elements, whatever the shape.
};

// All elements of input `input`, which is called `name` in the op's signature. kOpShape for another rank, or for more
// elements than a tensor can have dimensions (kAny: any number).
absl::StatusOr<IndexVector> ReadIndexVector(const KernelContext& context, int input, absl::string_view name,
                                            ListRank rank = ListRank::kVector);
// The only element of input `input`, whatever its rank; kOpShape unless it has exactly one element.
absl::StatusOr<int64_t> ReadIndexScalar(const KernelContext& context, int input, absl::string_view name);
// The same of a scalar; of one that must be 0 or more (kOpValue).
absl::StatusOr<int64_t> ReadScalar(const KernelContext& context, int input, absl::string_view name);
absl::StatusOr<int64_t> ReadCount(const KernelContext& context, int input, absl::string_view name);
// Output `i` becomes the vector `values`, of int32 or int64 as declared.
absl::Status SetIndexOutput(KernelContext& context, int i, absl::Span<const int64_t> values);
// The sizes of a shape; kOpValue for a negative one, kOutOfMemory and kOpTooLarge for too many elements (MakeShape).
absl::StatusOr<Shape> ReadShapeInput(const KernelContext& context, int input, absl::string_view name,
                                     ListRank rank = ListRank::kVector);

// `axis` counted from the front: negative ones count from the end. kOpValue unless it is one of [-rank, rank).
absl::StatusOr<int> ResolveAxis(int64_t axis, int rank, int input, absl::string_view name);
// The same for an axis that comes as input `input`, a scalar.
absl::StatusOr<int> ReadAxis(const KernelContext& context, int input, absl::string_view name, int rank);

// A shape whose sizes a kernel has computed. kOutOfMemory when no memory holds so many elements, kOpTooLarge when they
// cannot even be counted, kOpValue for a negative size.
absl::StatusOr<Shape> MakeShape(absl::Span<const int64_t> dims);

// Elements from one index to the next, for each axis of a tensor that lies in rows.
IndexVector RowMajorStrides(const Shape& shape);
// Product of the sizes of axes [begin, end).
int64_t SizeOfAxes(const Shape& shape, int begin, int end);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_INDEX_VALUES_H_

#ifndef SLUICE_KERNELS_IMAGE_TEMP_ARRAY_H_
#define SLUICE_KERNELS_IMAGE_TEMP_ARRAY_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Plain elements in memory of a kernel's context, not initialised. Movable; not thread-safe.
template <typename T>
class TempArray {
 public:
  static_assert(std::is_trivially_copyable<T>::value && alignof(T) <= 16, "plain elements only");

  TempArray() = default;
  // kOutOfMemory when there is none, kOpTooLarge when it cannot even be counted.
  static absl::StatusOr<TempArray> Make(KernelContext& context, int64_t size) {
    int64_t bytes = 0;
    if (!CheckedMul(size, static_cast<int64_t>(sizeof(T)), &bytes)) {
      return Error(ErrorCode::kOpTooLarge).Text("needs a table that no memory holds");
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({bytes}));
    TempArray made;
    SLUICE_ASSIGN_OR_RETURN(made.memory_, context.AllocateTemp(DType::kUInt8, shape));
    made.size_ = size;
    return made;
  }

  // Valid until the array is moved or destroyed.
  T* data() { return static_cast<T*>(memory_.mutable_raw_data()); }
  const T* data() const { return static_cast<const T*>(memory_.raw_data()); }
  int64_t size() const { return size_; }
  T& operator[](int64_t i) { return data()[i]; }
  const T& operator[](int64_t i) const { return data()[i]; }

 private:
  Tensor memory_;
  int64_t size_ = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_IMAGE_TEMP_ARRAY_H_

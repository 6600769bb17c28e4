#ifndef SLUICE_KERNELS_TEMP_ARRAY_H_
#define SLUICE_KERNELS_TEMP_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/status/statusor.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// `count` elements of `element_size` bytes as bytes. See TempArray::Make.
absl::StatusOr<Tensor> AllocateTempBytes(KernelContext& context, int64_t count, size_t element_size);

// Plain elements in memory of a kernel's context, not initialised. Movable; not thread-safe.
template <typename T>
class TempArray {
 public:
  static_assert(std::is_trivially_copyable<T>::value && alignof(T) <= 16, "plain elements only");

  TempArray() = default;
  // kOutOfMemory if memory is short or the size overflows. REQUIRES: size >= 0.
  static absl::StatusOr<TempArray> Make(KernelContext& context, int64_t size) {
    TempArray made;
    SLUICE_ASSIGN_OR_RETURN(made.memory_, AllocateTempBytes(context, size, sizeof(T)));
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

#endif  // SLUICE_KERNELS_TEMP_ARRAY_H_

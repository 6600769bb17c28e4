#ifndef SLUICE_KERNELS_IMAGE_FLOAT_ROWS_H_
#define SLUICE_KERNELS_IMAGE_FLOAT_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "graph/value/tensor.h"
#include "kernels/dtype_set.h"

namespace sluice {

// Dtypes of images, as far as ops take them.
inline constexpr DTypeSet kPixelTypes = kFloatTypes | kSignedTypes | DTypeSet{DType::kUInt8, DType::kUInt16};

// Reads pixels of any such dtype as floats, a run of elements at a time, so that the arithmetic of resizing exists
// once. Borrows the tensor's elements. Thread-safe.
class FloatRows {
 public:
  // REQUIRES: a dtype of kPixelTypes.
  explicit FloatRows(const Tensor& tensor);

  // Whether the elements are floats already: Get needs no scratch.
  bool is_direct() const { return convert_ == nullptr; }
  // Elements [begin, begin + count): where they lie, or converted into `scratch`.
  const float* Get(int64_t begin, int64_t count, float* scratch) const {
    const char* const from = data_ + static_cast<size_t>(begin) * element_size_;
    if (is_direct()) return reinterpret_cast<const float*>(from);
    convert_(from, count, scratch);
    return scratch;
  }

 private:
  const char* data_;
  size_t element_size_;
  void (*convert_)(const void* from, int64_t count, float* to) = nullptr;
};

// Rounds floats to the dtype of `to`, one of kFloatTypes, from element `begin` on.
void StoreFloats(const float* from, int64_t count, int64_t begin, Tensor* to);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IMAGE_FLOAT_ROWS_H_

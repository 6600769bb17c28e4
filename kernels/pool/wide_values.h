#ifndef SLUICE_KERNELS_POOL_WIDE_VALUES_H_
#define SLUICE_KERNELS_POOL_WIDE_VALUES_H_

// Pooling computes in four types. Elements of other dtypes are read as those of a wider one, row by row, and rounded
// or cut off when they are written: half and bfloat16 as floats, small integers as int32, unsigned ones of 32 and 64
// bits as int64.

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/dtype.h"
#include "graph/value/tensor.h"
#include "kernels/dispatch.h"

namespace sluice {

using WideCppTypes = TypeList<float, double, int32_t, int64_t>;

// The dtype of WideCppTypes that elements of `dtype` are computed in. REQUIRES: a real dtype.
DType WideTypeOf(DType dtype);

// The property of uint64 that widening keeps: its order, for comparisons, or its value modulo 2^64, for sums.
enum class WideUse { kOrder, kSum };

// Converts `n` elements. `from` and `to` may not overlap.
using ConvertValues = void (*)(const void* from, void* to, int64_t n);
// Conversions to the wide type of `dtype`, and back. Null if that is `dtype` itself.
ConvertValues WidenFrom(DType dtype, WideUse use);
ConvertValues NarrowTo(DType dtype, WideUse use);

// Reads the elements of a tensor as W, its wide type. Borrows the tensor. A small value.
template <typename W>
class WideReader {
 public:
  WideReader(const Tensor& tensor, WideUse use)
      : data_(static_cast<const char*>(tensor.raw_data())),
        element_size_(static_cast<int64_t>(DTypeSize(tensor.dtype()))),
        widen_(WidenFrom(tensor.dtype(), use)) {}

  // Whether elements must be converted.
  bool NeedsCopy() const { return widen_ != nullptr; }
  // Elements [at, at + n): where they lie, or converted in `copy`.
  const W* Read(int64_t at, int64_t n, W* copy) const {
    const char* const from = data_ + at * element_size_;
    if (widen_ == nullptr) return reinterpret_cast<const W*>(from);
    widen_(from, copy, n);
    return copy;
  }

 private:
  const char* data_;
  int64_t element_size_;
  ConvertValues widen_;
};

// Writes elements that are computed as W into a tensor whose wide type that is. Borrows the tensor. A small value.
template <typename W>
class WideWriter {
 public:
  WideWriter(Tensor* tensor, WideUse use)
      : data_(static_cast<char*>(tensor->mutable_raw_data())),
        element_size_(static_cast<int64_t>(DTypeSize(tensor->dtype()))),
        narrow_(NarrowTo(tensor->dtype(), use)) {}

  // Whether elements must be converted.
  bool NeedsCopy() const { return narrow_ != nullptr; }
  // Where elements from `at` on are computed: in place, or in `copy`.
  W* Place(int64_t at, W* copy) const { return narrow_ == nullptr ? reinterpret_cast<W*>(To(at)) : copy; }
  // Call once `n` elements are in `copy`, where that was the place.
  void Finish(int64_t at, int64_t n, const W* copy) const {
    if (narrow_ != nullptr) narrow_(copy, To(at), n);
  }
  // Copies `n` elements that have been computed elsewhere.
  void Store(int64_t at, int64_t n, const W* from) const {
    if (narrow_ != nullptr) {
      narrow_(from, To(at), n);
    } else {
      std::copy_n(from, n, reinterpret_cast<W*>(To(at)));
    }
  }

 private:
  char* To(int64_t at) const { return data_ + at * element_size_; }

  char* data_;
  int64_t element_size_;
  ConvertValues narrow_;
};

// `tensor` itself, or its elements in its wide type.
absl::StatusOr<Tensor> Widened(const Tensor& tensor, WideUse use, Allocator& allocator);
// The elements of `from` into `to`, whose wide type is that of `from`. REQUIRES: as many elements, another dtype.
void NarrowInto(const Tensor& from, WideUse use, Tensor* to);

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_WIDE_VALUES_H_

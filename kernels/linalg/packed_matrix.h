#ifndef SLUICE_KERNELS_LINALG_PACKED_MATRIX_H_
#define SLUICE_KERNELS_LINALG_PACKED_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/dtype.h"
#include "graph/value/tensor.h"

namespace sluice {

// How a matrix is read before it is packed. A value type.
struct PackedLayout {
  int64_t rows = 0;  // Of the matrix as it is read: k of the product.
  int64_t cols = 0;  // n.
  bool transposed = false;
  // So many groups of columns, of equal size, are packed each for itself: what grouped convolutions multiply by.
  int64_t groups = 1;
};

// A matrix B in the order in which the tiles of this machine read it (PackedGemm). A value that anything may hold - a
// kernel, a store of constants: copies share the memory. Immutable, so thread-safe.
class PackedMatrix {
 public:
  PackedMatrix() = default;  // Empty.
  // Packs the elements of `matrix`, whatever its shape: float and double as they are, half and bfloat16 as floats.
  // A matrix in a file (Note [Tensors in files]), of floats or doubles and in one group, is packed from there piece by
  // piece, and gives its pages back. kOutOfMemory when there is not enough. REQUIRES: one of these dtypes; rows * cols
  // elements; groups divide cols.
  static absl::StatusOr<PackedMatrix> Pack(const Tensor& matrix, const PackedLayout& layout,
                                           Allocator& allocator = HostAllocator());

  bool has_value() const { return elements_.has_value(); }
  const PackedLayout& layout() const { return layout_; }
  // Of the packed elements: float or double.
  DType dtype() const { return elements_.dtype(); }
  size_t bytes() const { return elements_.total_bytes(); }
  // The packed columns of a group. REQUIRES: dtype() is T's, a group below layout().groups.
  template <typename T>
  const T* group(int64_t i) const {
    return elements_.flat<T>().data() + i * (elements_.num_elements() / layout_.groups);
  }
  const void* data() const { return elements_.raw_data(); }

 private:
  PackedMatrix(Tensor elements, const PackedLayout& layout) : elements_(std::move(elements)), layout_(layout) {}

  Tensor elements_;
  PackedLayout layout_;
};

// A constant and its packed form, which is the same for all kernels that read it. Immutable.
struct PackedConstant {
  Tensor source;  // Held so that nothing else can ever stand at its address.
  PackedMatrix packed;
};

// The packed form of a value that is the same in every run, made once however many kernels (of several signatures, say)
// read it: they are found by the address of the elements and the layout, for as long as one of them holds the result.
// Null when memory is short, and for up to 16 bytes. Thread-safe.
std::shared_ptr<const PackedConstant> SharedPackedConstant(const Tensor& value, const PackedLayout& layout);

// The number of values of which a kernel holds a packed form. For tests.
int64_t NumPackedConstants();

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_PACKED_MATRIX_H_

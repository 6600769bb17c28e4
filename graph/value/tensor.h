#ifndef SLUICE_GRAPH_VALUE_TENSOR_H_
#define SLUICE_GRAPH_VALUE_TENSOR_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/check.h"
#include "graph/value/allocator.h"
#include "graph/value/buffer.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

// A value on an edge: dtype, shape, and either up to 16 bytes inline (small plain tensors never touch the heap) or a
// counted buffer with an offset. One cache line. Copies share the buffer.
// Thread-safety: like an int; the buffer's count is atomic.
//
//   Tensor t = Tensor::Scalar(2.5f);
//   SLUICE_ASSIGN_OR_RETURN(Tensor m, Tensor::Make(DType::kFloat, shape));
//   absl::Span<float> values = m.flat<float>();
class Tensor {
 public:
  Tensor() = default;  // Of dtype kInvalid: no value.
  Tensor(const Tensor& other) : shape_(other.shape_) { CopyStorage(other); }
  Tensor(Tensor&& other) noexcept : shape_(std::move(other.shape_)) { MoveStorage(other); }
  Tensor& operator=(const Tensor& other) {
    if (this != &other) *this = Tensor(other);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    if (this != &other) {
      Release();
      shape_ = std::move(other.shape_);
      MoveStorage(other);
    }
    return *this;
  }
  ~Tensor() { Release(); }

  // Uninitialised elements (empty strings, null handles). RESOURCE_EXHAUSTED when memory is short, INVALID_ARGUMENT
  // for a dtype that no tensor holds. One allocation at most for shapes of up to 4 dimensions, none for up to 16 bytes.
  static absl::StatusOr<Tensor> Make(DType dtype, const Shape& shape, Allocator& allocator = HostAllocator(),
                                     StreamTag stream = kHostStream);
  // The same, all bytes zero. REQUIRES: host memory.
  static absl::StatusOr<Tensor> MakeZeros(DType dtype, const Shape& shape, Allocator& allocator = HostAllocator());
  // Memory of the caller, not copied, in use until `release` has run; `read_only` memory is never written in place.
  // INVALID_ARGUMENT when `bytes` is not what dtype and shape need or dtype is not plain (then `release` has run).
  static absl::StatusOr<Tensor> Wrap(DType dtype, const Shape& shape, void* data, size_t bytes,
                                     absl::AnyInvocable<void()> release, bool read_only = false);
  // Strings in memory of the caller, not copied (except those of up to 22 bytes), in use until `release` has run: once,
  // on any thread, when the last tensor that shares them goes, or here on failure. They are never written in place;
  // copies of elements own their text. INVALID_ARGUMENT when `elements`, which are read here only, are not as many as
  // the shape has. One allocation of 24 bytes an element, and a small one.
  static absl::StatusOr<Tensor> WrapStrings(const Shape& shape, absl::Span<const absl::string_view> elements,
                                            absl::AnyInvocable<void()> release);
  // A part of `buffer` from byte `offset` on; takes over one reference of `buffer`, also when it fails.
  // INVALID_ARGUMENT if the part exceeds the buffer, is misaligned, or holds elements of another kind.
  static absl::StatusOr<Tensor> FromBuffer(DType dtype, const Shape& shape, Buffer* buffer, size_t offset);

  template <typename T>
  static Tensor Scalar(T value);  // Plain T.
  static Tensor String(absl::string_view value);
  // A vector of strings.
  static Tensor Strings(absl::Span<const absl::string_view> values);
  // A vector of plain T, or of any shape with as many elements (CHECKed: for values of our own code).
  template <typename T>
  static Tensor Vector(absl::Span<const T> values);
  template <typename T>
  static Tensor Of(const Shape& shape, absl::Span<const T> values);

  DType dtype() const { return static_cast<DType>(shape_.lent_dtype_); }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_.dim(axis); }
  int64_t num_elements() const { return shape_.num_elements(); }
  bool has_value() const { return dtype() != DType::kInvalid; }
  // Bytes of the elements, strings' own heap memory not counted.
  size_t total_bytes() const { return static_cast<size_t>(num_elements()) * DTypeSize(dtype()); }

  // The bytes of the elements. The span is valid while this tensor (not a copy) lives and stays put.
  const void* raw_data() const {
    return storage() == Storage::kInline ? inline_ : static_cast<char*>(heap_.buffer->data()) + heap_.offset;
  }
  void* mutable_raw_data() { return const_cast<void*>(raw_data()); }
  absl::string_view bytes() const { return {static_cast<const char*>(raw_data()), total_bytes()}; }

  // Typed views of the elements in row-major order. REQUIRES: dtype() is T's.
  template <typename T>
  absl::Span<const T> flat() const {
    SLUICE_DCHECK(dtype() == DTypeOf<T>::value);
    // No braces: for bool they would make a list of two.
    return absl::Span<const T>(static_cast<const T*>(raw_data()), static_cast<size_t>(num_elements()));
  }
  template <typename T>
  absl::Span<T> flat() {
    SLUICE_DCHECK(dtype() == DTypeOf<T>::value);
    return absl::Span<T>(static_cast<T*>(mutable_raw_data()), static_cast<size_t>(num_elements()));
  }
  // The only element. INVALID_ARGUMENT unless dtype() is T's and there is exactly one.
  template <typename T>
  absl::StatusOr<T> AsScalar() const;

  // Whether this tensor may be overwritten in place: inline, or the only holder of a writable buffer.
  bool IsUniquelyOwned() const {
    return storage() == Storage::kInline || (heap_.buffer->RefCountIsOne() && heap_.buffer->writable());
  }
  // Whether the elements lie in this object.
  bool IsInline() const { return storage() == Storage::kInline; }
  // The buffer of the elements (null if inline), and their offset in it. Lives as long as this tensor.
  Buffer* buffer() const { return IsInline() ? nullptr : heap_.buffer; }
  size_t buffer_offset() const { return IsInline() ? 0 : heap_.offset; }
  bool SharesBufferWith(const Tensor& other) const {
    return storage() == Storage::kBuffer && other.storage() == Storage::kBuffer && heap_.buffer == other.heap_.buffer;
  }

  // The same elements under another shape. INVALID_ARGUMENT when the counts differ.
  absl::StatusOr<Tensor> Reshaped(const Shape& shape) const;
  // A tensor of its own with equal elements, on the host heap. REQUIRES: elements in host memory.
  absl::StatusOr<Tensor> DeepCopy() const;
  // Elements [begin, end) of the first axis, sharing the buffer. REQUIRES: rank() > 0, 0 <= begin <= end <= dim(0).
  Tensor SliceRows(int64_t begin, int64_t end) const;

  // "float32 [2,3] {1, 2, 3, ...}" with at most `max_elements` elements.
  std::string ToString(int max_elements = 6) const;

 private:
  friend class Entry;
  enum class Storage : uint8_t { kInline = 0, kBuffer = 1 };
  static constexpr size_t kInlineBytes = 16;
  struct Heap {
    Buffer* buffer;
    size_t offset;
  };

  Storage storage() const { return static_cast<Storage>(shape_.lent_storage_); }
  void SetType(DType dtype, Storage storage) {
    shape_.lent_dtype_ = static_cast<uint8_t>(dtype);
    shape_.lent_storage_ = static_cast<uint8_t>(storage);
  }
  void CopyStorage(const Tensor& other) {
    SetType(other.dtype(), other.storage());
    std::memcpy(inline_, other.inline_, kInlineBytes);
    if (storage() == Storage::kBuffer) heap_.buffer->Ref();
  }
  // Leaves `other` without a value. Its bytes are moved, not its reference counted.
  void MoveStorage(Tensor& other) {
    SetType(other.dtype(), other.storage());
    std::memcpy(inline_, other.inline_, kInlineBytes);
    other.SetType(DType::kInvalid, Storage::kInline);
  }
  void Release() {
    if (storage() == Storage::kBuffer) heap_.buffer->Unref();
  }

  Shape shape_;
  union {
    alignas(16) char inline_[kInlineBytes] = {};
    Heap heap_;
  };
};

static_assert(sizeof(Tensor) == 64, "a tensor is one cache line");

template <typename T>
Tensor Tensor::Scalar(T value) {
  static_assert(std::is_trivially_copyable<T>::value && sizeof(T) <= kInlineBytes, "plain elements only");
  Tensor t;
  t.SetType(DTypeOf<T>::value, Storage::kInline);
  std::memcpy(t.inline_, &value, sizeof(T));
  return t;
}

template <typename T>
Tensor Tensor::Of(const Shape& shape, absl::Span<const T> values) {
  absl::StatusOr<Tensor> made = Make(DTypeOf<T>::value, shape);
  SLUICE_CHECK(made.ok() && shape.num_elements() == static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), made->template flat<T>().begin());
  return *std::move(made);
}

template <typename T>
Tensor Tensor::Vector(absl::Span<const T> values) {
  return Of<T>(Shape::Of({static_cast<int64_t>(values.size())}), values);
}

// The error for a tensor that is not a scalar of `wanted`.
absl::Status NotAScalar(const Tensor& tensor, DType wanted);

template <typename T>
absl::StatusOr<T> Tensor::AsScalar() const {
  if (dtype() != DTypeOf<T>::value || num_elements() != 1) return NotAScalar(*this, DTypeOf<T>::value);
  return flat<T>()[0];
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_TENSOR_H_

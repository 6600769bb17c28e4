#ifndef SLUICE_KERNELS_STATE_VALUE_PILE_H_
#define SLUICE_KERNELS_STATE_VALUE_PILE_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// A stack for many values. Small plain values are copied into segments of rows, each of one shape, so that the values
// of a loop, which mostly have one shape, take about 1.25 times their bytes. Others (large values, strings, handles,
// values in a device's memory) are held as Tensors, at 64 bytes each besides the value. Segments grow with the number
// of values, are never copied, and are freed with their last value. At most 1.5 times the bytes of the values and 96
// bytes for each, whatever their shapes; tests/kernels/state/value_pile_test.cc counts them.
// Not thread-safe.
class ValuePile {
 public:
  // Larger values cost less held than copied.
  static constexpr size_t kMaxRowBytes = 1024;

  ValuePile() = default;
  ValuePile(const ValuePile&) = delete;
  ValuePile& operator=(const ValuePile&) = delete;
  ~ValuePile() { Clear(); }

  int64_t size() const { return size_; }
  // RESOURCE_EXHAUSTED when memory is short: then nothing has changed. `allocator` must outlive the segment.
  absl::Status Push(const Tensor& value, Allocator& allocator);
  // The last value, in memory of `allocator` where it needs any. RESOURCE_EXHAUSTED when memory is short: then it
  // stays. REQUIRES: size() > 0.
  absl::StatusOr<Tensor> Pop(Allocator& allocator);
  // Pops the last value into `value` if it is a scalar of this plain dtype, of `bytes` bytes; otherwise does nothing
  // and returns false. Faster than Pop, for what most loops keep. REQUIRES: size() > 0.
  bool PopScalar(DType dtype, size_t bytes, void* value);
  void Clear();
  void swap(ValuePile& other) {
    std::swap(top_, other.top_);
    std::swap(size_, other.size_);
  }

 private:
  // Behind it, in the same memory, stand the rows: Tensors, or the shape of copied values and their bytes.
  struct Segment {
    Segment* below;
    Allocator* allocator;
    DType dtype;         // kInvalid: the rows are Tensors.
    uint32_t row_bytes;  // 0 for values without elements.
    uint32_t capacity;
    uint32_t rows;

    bool IsHeld() const { return dtype == DType::kInvalid; }
    Shape& shape() { return *std::launder(reinterpret_cast<Shape*>(this + 1)); }  // REQUIRES: !IsHeld().
    size_t head_bytes() const { return sizeof(Segment) + (IsHeld() ? 0 : sizeof(Shape)); }
    char* row(uint32_t i) { return reinterpret_cast<char*>(this) + head_bytes() + size_t{i} * row_bytes; }
    Tensor* held(uint32_t i) { return std::launder(reinterpret_cast<Tensor*>(row(i))); }
    size_t bytes() const { return head_bytes() + size_t{capacity} * row_bytes; }
  };
  static_assert(sizeof(Segment) + sizeof(Tensor) <= 96 && sizeof(Segment) + sizeof(Shape) <= 96,
                "a value that stands alone costs no more");
  static_assert(sizeof(Segment) % alignof(Tensor) == 0 && sizeof(Segment) % alignof(Shape) == 0,
                "what follows is aligned");

  // Whether the value may lie in rows.
  static bool IsSmall(const Tensor& value);
  // Whether rows of the segment are like this value.
  static bool Takes(Segment& segment, const Tensor& value, bool is_small);
  absl::Status Grow(const Tensor& value, bool is_small, Allocator& allocator);
  // Frees the top segment. REQUIRES: it has no rows.
  void DropTop();
  // Forgets the last row of the top segment, which holds nothing any more.
  void DropRow() {
    --top_->rows;
    --size_;
    if (run_ > 0) --run_;
  }

  Segment* top_ = nullptr;
  int64_t size_ = 0;
  int64_t run_ = 0;  // How many of the last values went into segments of one kind.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_VALUE_PILE_H_

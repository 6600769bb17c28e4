#include "kernels/state/value_pile.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/buffer.h"
#include "graph/value/dtype.h"

namespace sluice {
namespace {

constexpr size_t kMaxSegmentBytes = size_t{16} << 20;

// Sizes that the compiler knows take one instruction.
void CopyRow(void* to, const void* from, size_t bytes) {
  switch (bytes) {
    case 0:
      return;
    case 1:
      std::memcpy(to, from, 1);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    default:
      std::memcpy(to, from, bytes);
  }
}

}  // namespace

bool ValuePile::IsSmall(const Tensor& value) {
  if (!IsTrivial(value.dtype()) || value.total_bytes() > kMaxRowBytes) return false;
  const Buffer* const buffer = value.buffer();
  return buffer == nullptr || buffer->allocator() == nullptr || buffer->allocator()->IsHostMemory();
}

bool ValuePile::Takes(Segment& segment, const Tensor& value, bool is_small) {
  if (!is_small) return segment.IsHeld();
  if (segment.dtype != value.dtype()) return false;
  const Shape& shape = segment.shape();
  return shape.IsScalar() ? value.shape().IsScalar() : shape == value.shape();
}

absl::Status ValuePile::Grow(const Tensor& value, bool is_small, Allocator& allocator) {
  // Room for a quarter of what went before: little is empty, and the number of segments is a logarithm. Where shapes
  // change from value to value, each has a segment of its own.
  const bool goes_on = top_ != nullptr && Takes(*top_, value, is_small);
  if (!goes_on) run_ = 0;
  const size_t row_bytes = is_small ? value.total_bytes() : sizeof(Tensor);
  const int64_t most = static_cast<int64_t>(kMaxSegmentBytes / std::max<size_t>(row_bytes, 1));
  const int64_t wanted = std::max<int64_t>(run_ < 16 ? run_ / 2 : run_ / 4, 1);
  const uint32_t capacity = static_cast<uint32_t>(std::min(wanted, most));
  Segment segment{top_,
                  allocator.IsHostMemory() ? &allocator : &HostAllocator(),
                  is_small ? value.dtype() : DType::kInvalid,
                  static_cast<uint32_t>(row_bytes),
                  capacity,
                  /*rows=*/0};
  Shape shape = is_small ? value.shape() : Shape();  // May throw, so it comes first.
  void* const data = segment.allocator->Allocate(segment.bytes(), kHostStream);
  if (data == nullptr) {
    return Error(ErrorCode::kOutOfMemory)
        .Found(absl::StrCat(segment.bytes(), " bytes"))
        .Text("no memory for kept values");
  }
  top_ = new (data) Segment(segment);
  if (is_small) new (top_ + 1) Shape(std::move(shape));
  return absl::OkStatus();
}

absl::Status ValuePile::Push(const Tensor& value, Allocator& allocator) {
  const bool is_small = IsSmall(value);
  bool is_like_top = top_ != nullptr && Takes(*top_, value, is_small);
  if (!is_like_top && top_ != nullptr && top_->rows == 0) {
    DropTop();
    is_like_top = top_ != nullptr && Takes(*top_, value, is_small);
  }
  if (!is_like_top || top_->rows == top_->capacity) SLUICE_RETURN_IF_ERROR(Grow(value, is_small, allocator));
  char* const row = top_->row(top_->rows);
  if (is_small) {
    CopyRow(row, value.raw_data(), top_->row_bytes);
  } else {
    new (row) Tensor(value);
  }
  ++top_->rows;
  ++size_;
  ++run_;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ValuePile::Pop(Allocator& allocator) {
  // An empty segment stays until a value below it is asked for: pushes may follow.
  if (top_->rows == 0) DropTop();
  Tensor value;
  if (top_->IsHeld()) {
    Tensor* const held = top_->held(top_->rows - 1);
    value = std::move(*held);
    held->~Tensor();
  } else {
    SLUICE_ASSIGN_OR_RETURN(value, Tensor::Make(top_->dtype, top_->shape(), allocator));
    CopyRow(value.mutable_raw_data(), top_->row(top_->rows - 1), top_->row_bytes);
  }
  DropRow();
  return value;
}

bool ValuePile::PopScalar(DType dtype, size_t bytes, void* value) {
  if (top_->rows == 0) DropTop();
  if (top_->dtype != dtype || top_->row_bytes != bytes || !top_->shape().IsScalar()) return false;
  CopyRow(value, top_->row(top_->rows - 1), bytes);
  DropRow();
  return true;
}

void ValuePile::DropTop() {
  Segment* const segment = top_;
  top_ = segment->below;
  Allocator* const allocator = segment->allocator;
  const size_t bytes = segment->bytes();
  if (!segment->IsHeld()) segment->shape().~Shape();
  allocator->Free(segment, bytes, kHostStream);
}

void ValuePile::Clear() {
  while (top_ != nullptr) {
    if (top_->IsHeld()) {
      for (uint32_t i = 0; i < top_->rows; ++i) top_->held(i)->~Tensor();
    }
    DropTop();
  }
  size_ = run_ = 0;
}

}  // namespace sluice

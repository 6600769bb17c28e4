#include "kernels/state/stack.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

absl::Status Stack::CheckOpen() const {
  if (!is_closed_) return absl::OkStatus();
  return Error(ErrorCode::kStackEmpty).Found(name()).Text("the stack was closed");
}

absl::Status Stack::Push(const Tensor& value, Allocator& allocator) {
  if (value.dtype() != dtype_) {
    return Error(ErrorCode::kStackEmpty)
        .Found(DTypeName(value.dtype()))
        .Expected(DTypeName(dtype_))
        .Text("the stack holds another dtype");
  }
  MutexLock lock(&mu_);
  if (is_closed_) return CheckOpen();
  if (max_size_ >= 0 && values_.size() >= max_size_) {
    return Error(ErrorCode::kStackEmpty).Text(absl::StrCat("the stack is full: max_size is ", max_size_));
  }
  return values_.Push(value, allocator);
}

absl::StatusOr<Tensor> Stack::Pop(Allocator& allocator) {
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  if (values_.size() == 0) return Error(ErrorCode::kStackEmpty).Found(name()).Text("the stack is empty");
  return values_.Pop(allocator);
}

bool Stack::PopScalar(DType dtype, size_t bytes, void* value) {
  MutexLock lock(&mu_);
  return !is_closed_ && values_.size() > 0 && values_.PopScalar(dtype, bytes, value);
}

void Stack::Close() {
  ValuePile ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  is_closed_ = true;
  ended.swap(values_);
}

std::string Stack::DebugString() const {
  MutexLock lock(&mu_);
  return absl::StrCat(kTypeName, " ", DTypeName(dtype_), " of ", values_.size(), is_closed_ ? ", closed" : "");
}

}  // namespace sluice

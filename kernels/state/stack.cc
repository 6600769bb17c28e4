#include "kernels/state/stack.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {

absl::Status Stack::CheckOpen() const {
  if (!is_closed_) return absl::OkStatus();
  return Error(ErrorCode::kStackEmpty).Found(name()).Text("the stack was closed");
}

absl::Status Stack::Push(Tensor value) {
  if (value.dtype() != dtype_) {
    return Error(ErrorCode::kStackEmpty)
        .Found(DTypeName(value.dtype()))
        .Expected(DTypeName(dtype_))
        .Text("the stack holds another dtype");
  }
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  if (max_size_ >= 0 && values_.size() >= static_cast<size_t>(max_size_)) {
    return Error(ErrorCode::kStackEmpty).Text(absl::StrCat("the stack is full: max_size is ", max_size_));
  }
  values_.push_back(std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Stack::Pop() {
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  if (values_.empty()) return Error(ErrorCode::kStackEmpty).Found(name()).Text("the stack is empty");
  Tensor value = std::move(values_.back());
  values_.pop_back();
  return value;
}

void Stack::Close() {
  std::vector<Tensor> ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  is_closed_ = true;
  ended.swap(values_);
}

std::string Stack::DebugString() const {
  MutexLock lock(&mu_);
  return absl::StrCat(kTypeName, " ", DTypeName(dtype_), " of ", values_.size(), is_closed_ ? ", closed" : "");
}

}  // namespace sluice

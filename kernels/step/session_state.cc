#include "kernels/step/session_state.h"

#include "graph/base/error.h"

namespace sluice {
namespace {

absl::Status Unknown(absl::string_view handle) {
  return Error(ErrorCode::kTensorHandle).Found(handle).Text("there is no tensor under this handle");
}

}  // namespace

absl::StatusOr<Tensor> SessionState::Get(absl::string_view handle) const {
  MutexLock lock(&mu_);
  const auto found = tensors_.find(handle);
  if (found == tensors_.end()) return Unknown(handle);
  return found->second;
}

absl::Status SessionState::Delete(absl::string_view handle) {
  Tensor ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  const auto found = tensors_.find(handle);
  if (found == tensors_.end()) return Unknown(handle);
  ended = std::move(found->second);
  tensors_.erase(found);
  return absl::OkStatus();
}

void SessionState::Add(absl::string_view handle, Tensor tensor) {
  MutexLock lock(&mu_);
  tensors_[handle] = std::move(tensor);
}

size_t SessionState::size() const {
  MutexLock lock(&mu_);
  return tensors_.size();
}

absl::Status TensorStore::Add(absl::string_view node, std::string handle, Tensor tensor) {
  MutexLock lock(&mu_);
  if (!items_.emplace(node, Item{std::move(handle), std::move(tensor)}).second) {
    return Error(ErrorCode::kTensorHandle).Text("a handle was made twice in one step");
  }
  return absl::OkStatus();
}

void TensorStore::SaveTo(const std::vector<std::string>& fetched_nodes, SessionState& state) {
  for (const std::string& node : fetched_nodes) {
    Item item;
    {
      MutexLock lock(&mu_);
      const auto found = items_.find(node);
      if (found == items_.end()) continue;
      item = std::move(found->second);
      items_.erase(found);
    }
    state.Add(item.handle, std::move(item.tensor));
  }
}

}  // namespace sluice

#include "graph/base/cancellation.h"

#include <utility>

#include "graph/base/error.h"

namespace sluice {

CancellationManager::CancellationManager(CancellationManager* parent) : parent_(parent) {
  if (parent == nullptr) return;
  const CancellationToken token = parent->NewToken();
  if (parent->RegisterCallback(token, [this] { StartCancelWithStatus(parent_->status()); })) {
    parent_token_ = token;
  } else {
    StartCancelWithStatus(parent->status());
  }
}

CancellationManager::~CancellationManager() {
  if (parent_token_ >= 0) parent_->DeregisterCallback(parent_token_);
  bool pending;
  {
    MutexLock lock(&mu_);
    pending = !callbacks_.empty();
  }
  if (pending) StartCancel();
}

bool CancellationManager::RegisterCallback(CancellationToken token, absl::AnyInvocable<void()> callback) {
  MutexLock lock(&mu_);
  if (is_cancelling_.load(std::memory_order_relaxed)) return false;  // Relaxed: written under mu_.
  callbacks_.emplace(token, std::move(callback));
  return true;
}

bool CancellationManager::DeregisterCallback(CancellationToken token) {
  MutexLock lock(&mu_);
  if (!is_cancelling_.load(std::memory_order_relaxed)) return callbacks_.erase(token) > 0;
  while (!is_cancelled_.load(std::memory_order_relaxed)) callbacks_done_.Wait(&mu_);
  return false;
}

bool CancellationManager::TryDeregisterCallback(CancellationToken token) {
  MutexLock lock(&mu_);
  return !is_cancelling_.load(std::memory_order_relaxed) && callbacks_.erase(token) > 0;
}

void CancellationManager::StartCancelWithStatus(absl::Status cause) {
  if (absl::IsCancelled(cause) && !ErrorInfoOf(cause).has_value()) {  // With a code that can be explained.
    cause = Error(ErrorCode::kRunCancelled).Text(cause.message());
  }
  absl::btree_map<CancellationToken, absl::AnyInvocable<void()>> callbacks;
  {
    MutexLock lock(&mu_);
    if (is_cancelling_.load(std::memory_order_relaxed)) return;
    cause_ = std::move(cause);
    is_cancelling_.store(true, std::memory_order_release);  // Release: publishes the cause to pollers.
    callbacks.swap(callbacks_);
  }
  for (auto& entry : callbacks) std::move(entry.second)();
  MutexLock lock(&mu_);
  is_cancelled_.store(true, std::memory_order_release);
  callbacks_done_.SignalAll();
}

absl::Status CancellationManager::status() const {
  MutexLock lock(&mu_);
  return cause_;
}

}  // namespace sluice

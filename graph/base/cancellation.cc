#include "graph/base/cancellation.h"

#include <thread>
#include <utility>

#include "graph/base/as_status.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// Makes `cause` an error with a code of ours; without memory for that, returns it as it is.
absl::Status Explained(absl::Status cause) noexcept {
  if (!cause.ok() && !absl::IsCancelled(cause)) return cause;
  try {
    if (cause.ok()) return Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
    if (ErrorInfoOf(cause).has_value()) return cause;
    return Error(ErrorCode::kRunCancelled).Text(cause.message());
  } catch (...) {
    return cause.ok() ? absl::Status(absl::StatusCode::kCancelled, "") : cause;
  }
}

void Call(absl::AnyInvocable<void()> callback) noexcept {
  try {
    std::move(callback)();
  } catch (...) {
    LogCaught("a cancellation callback");
  }
}

}  // namespace

class CancellationManager::Canceller {
 public:
  bool IsThisThread() const { return std::this_thread::get_id() == thread_; }
  // Waits for WakeAll. The caller holds `mu`, and checks afterwards whether the callbacks are done.
  void Wait(Mutex* mu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { callbacks_done_.Wait(mu); }
  // Callbacks are done. Called with the manager's lock, so that waiting threads wake before this is destroyed.
  void WakeAll() { callbacks_done_.SignalAll(); }
  // Whether a callback has destroyed the manager. Read by this thread only.
  bool is_manager_gone() const { return is_manager_gone_; }
  void ManagerGoes(Callbacks* callbacks) {
    is_manager_gone_ = true;
    left_.swap(*callbacks);
  }
  void CallThoseLeft() {
    for (auto& entry : left_) Call(std::move(entry.second));
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  CondVar callbacks_done_;
  bool is_manager_gone_ = false;
  Callbacks left_;  // Of a destroyed manager.
};

CancellationManager::CancellationManager(CancellationManager* parent) : parent_(parent) {
  if (parent == nullptr) return;
  const CancellationToken token = parent->NewToken();
  // A callback may destroy this: touch nothing after it.
  if (parent->RegisterCallback(token, [this] { StartCancelWithStatus(parent_->status()); })) {
    parent_token_ = token;
  } else {
    StartCancelWithStatus(parent->status());
  }
}

CancellationManager::~CancellationManager() {
  if (parent_token_ >= 0) parent_->DeregisterCallback(parent_token_);
  {
    MutexLock lock(&mu_);
    if (IsCallback()) {
      canceller_->ManagerGoes(&callbacks_);
      return;
    }
    while (canceller_ != nullptr) canceller_->Wait(&mu_);
    if (callbacks_.empty()) return;
  }
  StartCancel();
}

bool CancellationManager::RegisterCallback(CancellationToken token, absl::AnyInvocable<void()> callback) {
  MutexLock lock(&mu_);
  if (is_cancelling_.load(std::memory_order_relaxed)) return false;  // Relaxed: written under mu_.
  callbacks_.emplace(token, std::move(callback));
  return true;
}

bool CancellationManager::Take(CancellationToken token, absl::AnyInvocable<void()>* callback) {
  const auto found = callbacks_.find(token);
  if (found == callbacks_.end()) return false;
  *callback = std::move(found->second);
  callbacks_.erase(found);
  return true;
}

bool CancellationManager::IsCallback() const { return canceller_ != nullptr && canceller_->IsThisThread(); }

bool CancellationManager::DeregisterCallback(CancellationToken token) {
  absl::AnyInvocable<void()> callback;  // Goes after the lock.
  MutexLock lock(&mu_);
  if (Take(token, &callback)) return true;
  if (IsCallback()) return false;
  while (canceller_ != nullptr) canceller_->Wait(&mu_);
  return false;
}

bool CancellationManager::TryDeregisterCallback(CancellationToken token) {
  absl::AnyInvocable<void()> callback;  // Goes after the lock.
  MutexLock lock(&mu_);
  return Take(token, &callback);
}

void CancellationManager::StartCancelWithStatus(absl::Status cause) {
  cause = Explained(std::move(cause));
  Canceller self;
  {
    MutexLock lock(&mu_);
    if (is_cancelling_.load(std::memory_order_relaxed)) return;
    cause_ = std::move(cause);
    is_cancelling_.store(true, std::memory_order_release);  // Release: publishes the cause to pollers.
    canceller_ = &self;
  }
  // One by one: a callback may deregister later ones, or destroy this.
  while (!self.is_manager_gone()) {
    absl::AnyInvocable<void()> callback;
    {
      MutexLock lock(&mu_);
      if (callbacks_.empty()) {
        canceller_ = nullptr;
        is_cancelled_.store(true, std::memory_order_release);
        self.WakeAll();
        return;
      }
      Take(callbacks_.begin()->first, &callback);
    }
    Call(std::move(callback));
  }
  self.CallThoseLeft();
}

absl::Status CancellationManager::status() const {
  MutexLock lock(&mu_);
  return cause_;
}

}  // namespace sluice

#ifndef SLUICE_EXECUTOR_CANCELLATION_LINK_H_
#define SLUICE_EXECUTOR_CANCELLATION_LINK_H_

#include <optional>

#include "executor/threads/thread_runs.h"
#include "graph/base/cancellation.h"

namespace sluice {

// Removes a callback as CancellationManager::DeregisterCallback does. Where that has to wait for a cancellation that is
// under way on another thread, this thread sleeps: first it gives away the runs that it has deferred, which a callback
// may wait for (Note [Deferred runs] in thread_runs.h).
inline void DeregisterInRun(CancellationManager& manager, CancellationToken token) noexcept {
  if (manager.TryDeregisterCallback(token)) return;
  if (!manager.IsCancelled()) ThreadRuns::Current().HandToAnyThread(DeferredRun::To::kRunner);
  manager.DeregisterCallback(token);
}

// While it lives, `to` is cancelled when `from` is: at once, if that has happened. Both outlive it. One thread's.
class CancellationLink {
 public:
  CancellationLink(CancellationManager& from, CancellationManager& to) : from_(from), token_(from.NewToken()) {
    // A callback may destroy this: it touches nothing of it.
    is_registered_ = from.RegisterCallback(token_, [&from, &to] { to.StartCancelWithStatus(from.status()); });
    if (!is_registered_) to.StartCancelWithStatus(from.status());
  }
  CancellationLink(const CancellationLink&) = delete;
  CancellationLink& operator=(const CancellationLink&) = delete;
  ~CancellationLink() {
    if (is_registered_) DeregisterInRun(from_, token_);
  }

 private:
  CancellationManager& from_;
  const CancellationToken token_;
  bool is_registered_ = false;
};

// A manager that is cancelled when its parent is, for what threads in runs make and end: a CancellationManager with a
// parent would sleep at its end with deferred runs in hand. One thread's; manager() is thread-safe.
class ChildManager {
 public:
  // `parent` may be null; else it outlives this.
  explicit ChildManager(CancellationManager* parent) {
    if (parent != nullptr) link_.emplace(*parent, manager_);
  }
  ChildManager(const ChildManager&) = delete;
  ChildManager& operator=(const ChildManager&) = delete;

  CancellationManager& manager() { return manager_; }
  const CancellationManager& manager() const { return manager_; }

 private:
  CancellationManager manager_;
  std::optional<CancellationLink> link_;  // Ends before what it cancels.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_CANCELLATION_LINK_H_

#ifndef SLUICE_EXECUTOR_CANCELLATION_LINK_H_
#define SLUICE_EXECUTOR_CANCELLATION_LINK_H_

#include <optional>

#include "executor/threads/thread_runs.h"
#include "graph/base/cancellation.h"

namespace sluice {

// As CancellationManager::DeregisterCallback, for threads that may be in a run. If a cancellation is under way on
// another thread, the call sleeps until that is done; before it sleeps, it hands this thread's deferred runs to other
// threads, because a cancellation callback may wait for them (Note [Deferred runs] in thread_runs.h).
inline void DeregisterInRun(CancellationManager& manager, CancellationToken token) noexcept {
  if (manager.TryDeregisterCallback(token)) return;
  if (!manager.IsCancelled()) ThreadRuns::Current().HandToAnyThread(DeferredRun::To::kRunner);
  manager.DeregisterCallback(token);
}

// While it lives, cancels `to` when `from` is cancelled; at once if it already is. Both must outlive it. Not
// thread-safe.
class CancellationLink {
 public:
  CancellationLink(CancellationManager& from, CancellationManager& to) : from_(from), token_(from.NewToken()) {
    // Captures no member: a cancellation callback may destroy this object.
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

// A manager that is cancelled when its parent is, to be created and destroyed by threads in runs. (The destructor of a
// CancellationManager with a parent could sleep while the thread holds deferred runs.) Not thread-safe, but manager()
// is.
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
  std::optional<CancellationLink> link_;  // Destroyed before manager_, which it cancels.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_CANCELLATION_LINK_H_

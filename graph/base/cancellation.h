#ifndef SLUICE_GRAPH_BASE_CANCELLATION_H_
#define SLUICE_GRAPH_BASE_CANCELLATION_H_

#include <atomic>
#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "graph/base/mutex.h"

namespace sluice {

// Names one registered callback of one CancellationManager.
using CancellationToken = int64_t;

// Tells the work of one run that it should stop: code that may wait registers a callback that ends the wait, code that
// computes for long polls IsCancelled(). Managers form a tree: a session's cancels those of its steps.
//
//   const CancellationToken token = manager.NewToken();
//   if (!manager.RegisterCallback(token, [this] { queue_.Wake(); })) return manager.status();
//   ... wait ...
//   manager.DeregisterCallback(token);  // Afterwards the callback does not run and will not.
//
// Callbacks run on the thread that cancels, with no lock held, and are destroyed with no lock held. A callback may
// deregister any callback of its manager, itself included, and may destroy the manager. It must not wait for another
// thread that waits for it, such as for the end of a run that it is part of.
//
// Thread-safe. The destructor waits for a cancellation that is under way on another thread; on the thread that cancels,
// inside a callback, it does not wait, and callbacks that have not run yet are called as they are promised.
class CancellationManager {
 public:
  CancellationManager() = default;
  // A child: cancelled when `parent` is (at once, if that has happened). `parent` must outlive it.
  explicit CancellationManager(CancellationManager* parent);
  CancellationManager(const CancellationManager&) = delete;
  CancellationManager& operator=(const CancellationManager&) = delete;
  // Cancels if callbacks are still registered: they are promised a call or a deregistration.
  ~CancellationManager();

  // A token that no other callback of this manager has.
  CancellationToken NewToken() { return next_token_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: unique only.

  // Has `callback` called once when this is cancelled. False, and no call, when cancellation has begun: then the caller
  // cleans up itself.
  [[nodiscard]] bool RegisterCallback(CancellationToken token, absl::AnyInvocable<void()> callback)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Removes a callback. True: it has not run and will not. False: it has run. Where it is running on another thread,
  // waits until the cancellation is through; inside a callback, never waits.
  bool DeregisterCallback(CancellationToken token) ABSL_LOCKS_EXCLUDED(mu_);
  // Removes a callback if it has not begun to run, and never waits. False: it runs or has run.
  bool TryDeregisterCallback(CancellationToken token) ABSL_LOCKS_EXCLUDED(mu_);

  // Cancels with `cause` (kRunCancelled when it is OK or names no code of ours): runs all callbacks, then IsCancelled()
  // is true. The first call's cause counts; a second call does nothing and does not wait. A callback that throws is
  // logged, and the others run.
  void StartCancel() { StartCancelWithStatus(absl::OkStatus()); }
  void StartCancelWithStatus(absl::Status cause) ABSL_LOCKS_EXCLUDED(mu_);

  // True once all callbacks have run. Acquire: what the canceller wrote before is seen.
  bool IsCancelled() const { return is_cancelled_.load(std::memory_order_acquire); }
  // True from the start of cancellation on.
  bool IsCancelling() const { return is_cancelling_.load(std::memory_order_acquire); }

  // OK, or why this was cancelled. Never OK when IsCancelling().
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Callbacks = std::map<CancellationToken, absl::AnyInvocable<void()>>;
  // A StartCancelWithStatus under way, on the stack of its thread; threads that wait for its end do so there, since
  // many managers are never waited for.
  class Canceller;

  // Takes a callback that has not run out of the table, so that it can be destroyed without the lock.
  bool Take(CancellationToken token, absl::AnyInvocable<void()>* callback) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsCallback() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  CancellationManager* const parent_ = nullptr;
  CancellationToken parent_token_ = -1;  // Immutable after construction; -1: none.

  std::atomic<CancellationToken> next_token_{0};
  std::atomic<bool> is_cancelling_{false};
  std::atomic<bool> is_cancelled_{false};

  mutable Mutex mu_;
  absl::Status cause_ ABSL_GUARDED_BY(mu_);
  Callbacks callbacks_ ABSL_GUARDED_BY(mu_);             // Those that have not been called.
  Canceller* canceller_ ABSL_GUARDED_BY(mu_) = nullptr;  // While callbacks run.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_CANCELLATION_H_

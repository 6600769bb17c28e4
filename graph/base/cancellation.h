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

// Tells the work of one run to stop: code that may wait registers a callback that ends the wait, code that computes for
// long polls IsCancelled(). Managers form a tree: a session's cancels those of its steps.
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
// Thread-safe. The destructor waits for a cancellation in progress on another thread; on the cancelling thread, inside
// a callback, it does not wait, and the remaining callbacks still run.
class CancellationManager {
 public:
  CancellationManager() = default;
  // A child: cancelled when `parent` is (at once, if that has happened). `parent` must outlive it.
  explicit CancellationManager(CancellationManager* parent);
  CancellationManager(const CancellationManager&) = delete;
  CancellationManager& operator=(const CancellationManager&) = delete;
  // Cancels if callbacks are still registered: each is either called or deregistered.
  ~CancellationManager();

  // Returns a new token.
  CancellationToken NewToken() { return next_token_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: unique only.

  // Registers `callback`, called once when this is cancelled. Returns false, without a call, if cancellation has begun:
  // then the caller cleans up itself.
  [[nodiscard]] bool RegisterCallback(CancellationToken token, absl::AnyInvocable<void()> callback)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Removes a callback. True: it has not run and will not. False: it has run. If it is running on another thread, waits
  // for the end of the cancellation; inside a callback, never waits.
  bool DeregisterCallback(CancellationToken token) ABSL_LOCKS_EXCLUDED(mu_);
  // Removes a callback if it has not begun to run, and never waits. False: it runs or has run.
  bool TryDeregisterCallback(CancellationToken token) ABSL_LOCKS_EXCLUDED(mu_);

  // Cancels with `cause` (kRunCancelled when it is OK or names no code of ours): runs all callbacks, then IsCancelled()
  // is true. Only the first call has an effect; others do not wait. A callback that throws is logged, and the others
  // run.
  void StartCancel() { StartCancelWithStatus(absl::OkStatus()); }
  void StartCancelWithStatus(absl::Status cause) ABSL_LOCKS_EXCLUDED(mu_);

  // True once all callbacks have run. Acquire: what the canceller wrote before is seen.
  bool IsCancelled() const { return is_cancelled_.load(std::memory_order_acquire); }
  // True from the start of cancellation on.
  bool IsCancelling() const { return is_cancelling_.load(std::memory_order_acquire); }

  // The cause of the cancellation, or OK. Never OK when IsCancelling().
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Callbacks = std::map<CancellationToken, absl::AnyInvocable<void()>>;
  // A StartCancelWithStatus in progress, on the stack of its thread. Threads wait for its end there, so that managers,
  // which are rarely waited for, stay small.
  class Canceller;

  // Moves a callback that has not run out of the table, to be destroyed without the lock.
  bool Take(CancellationToken token, absl::AnyInvocable<void()>* callback) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsCallback() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  CancellationManager* const parent_ = nullptr;
  CancellationToken parent_token_ = -1;  // Immutable after construction; -1: none.

  std::atomic<CancellationToken> next_token_{0};
  std::atomic<bool> is_cancelling_{false};
  std::atomic<bool> is_cancelled_{false};

  mutable Mutex mu_;
  absl::Status cause_ ABSL_GUARDED_BY(mu_);
  Callbacks callbacks_ ABSL_GUARDED_BY(mu_);             // Not called yet.
  Canceller* canceller_ ABSL_GUARDED_BY(mu_) = nullptr;  // While callbacks run.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_CANCELLATION_H_

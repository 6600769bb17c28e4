#ifndef SLUICE_EXECUTOR_RUN_STATUS_H_
#define SLUICE_EXECUTOR_RUN_STATUS_H_

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "graph/base/cancellation.h"
#include "graph/base/mutex.h"
#include "rendezvous/rendezvous.h"

namespace sluice {

// Keeps the first error of a run and stops the rest of the run with it. Thread-safe.
class RunStatus {
 public:
  // Both may be null.
  RunStatus(Rendezvous* rendezvous, CancellationManager* cancellation, absl::Time deadline)
      : rendezvous_(rendezvous), cancellation_(cancellation), deadline_(deadline) {}

  // Keeps `error` if it is the first; then aborts the rendezvous and cancels the manager with it, so that all waits
  // end. A CANCELLED that only says that the run was cancelled gives way to the cause of the cancellation.
  // REQUIRES: !error.ok().
  void Record(const absl::Status& error) noexcept ABSL_LOCKS_EXCLUDED(mu_);

  // Whether nodes must not be started any more: an error was recorded, or the run was cancelled (which is recorded).
  bool MustStop() noexcept {
    if (ABSL_PREDICT_FALSE(must_stop_.load(std::memory_order_relaxed))) return true;
    if (cancellation_ == nullptr || ABSL_PREDICT_TRUE(!cancellation_->IsCancelling())) return false;
    Record(cancellation_->status());
    return true;
  }
  bool has_deadline() const { return deadline_ != absl::InfiniteFuture(); }
  absl::Time deadline() const { return deadline_; }
  // Records kDeadline if the deadline has passed. Reads the clock only if there is a deadline.
  void CheckDeadline() noexcept;

  // The first error, or OK.
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Rendezvous* const rendezvous_;
  CancellationManager* const cancellation_;
  const absl::Time deadline_;
  std::atomic<bool> must_stop_{false};  // Relaxed: seen soon is enough; the status itself is under the lock.
  mutable Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_RUN_STATUS_H_

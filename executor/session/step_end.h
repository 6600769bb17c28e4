#ifndef SLUICE_EXECUTOR_SESSION_STEP_END_H_
#define SLUICE_EXECUTOR_SESSION_STEP_END_H_

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "executor/executor.h"
#include "graph/base/mutex.h"

namespace sluice {

// The end of a step that others run: set once, waited for by any number of threads. It may be destroyed as soon as a
// wait has returned true. Thread-safe.
// Waits may be inside of a `done` or a kernel: runs that their thread has deferred go to other threads first.
class StepEnd {
 public:
  void Set(absl::Status status) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    status_ = std::move(status);
    is_over_ = true;
    changed_.SignalAll();
  }

  // Whether the step was over by `deadline`.
  bool WaitUntil(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mu_) {
    BeforeWaiting();
    MutexLock lock(&mu_);
    while (!is_over_) {
      if (changed_.WaitWithDeadline(&mu_, deadline)) break;
    }
    return is_over_;
  }

  // Whether the step has ended with an error.
  bool HasFailed() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return is_over_ && !status_.ok();
  }

  // Waits, and returns the outcome.
  absl::Status Wait() ABSL_LOCKS_EXCLUDED(mu_) {
    BeforeWaiting();
    MutexLock lock(&mu_);
    while (!is_over_) changed_.Wait(&mu_);
    return status_;
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_STEP_END_H_

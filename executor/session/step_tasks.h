#ifndef SLUICE_EXECUTOR_SESSION_STEP_TASKS_H_
#define SLUICE_EXECUTOR_SESSION_STEP_TASKS_H_

#include <cstdint>
#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "graph/base/mutex.h"
#include "graph/base/strong_id.h"
#include "graph/value/counted.h"
#include "kernels/device/task_runner.h"

namespace sluice {

// The threads of one step: those of a pool, and the thread that waits for the step, which works on this step only. So a
// pool of n threads gives a step n, and a finished step does not wait for other work in the pool.
//
//   StepTasks tasks(pool, args.step_id);
//   StartParts(&tasks, [&tasks](absl::Status status) { tasks.End(std::move(status)); });
//   if (!tasks.WorkUntil(deadline)) ...
//   return tasks.WorkToEnd();
//
// Thread-safe; one thread calls WorkUntil and WorkToEnd. Lives until WorkToEnd has returned, which all of the step's
// work must precede.
class StepTasks final : public TaskRunner {
 public:
  // `threads` may be null: then the waiting thread does everything.
  StepTasks(TaskRunner* threads, StepId step_id) : threads_(threads), step_id_(step_id), queue_(MakeCounted<Queue>()) {}
  StepTasks(const StepTasks&) = delete;
  StepTasks& operator=(const StepTasks&) = delete;

  // Runs `task` on a thread of the pool or on the waiting thread, whichever comes first.
  void Schedule(absl::AnyInvocable<void()> task) override;
  int num_threads() const override { return threads_ != nullptr ? threads_->num_threads() : 1; }
  bool HasWaitingTasks() const override { return threads_ != nullptr && threads_->HasWaitingTasks(); }
  void ParallelFor(int64_t total, double unit_ns, bool deterministic,
                   absl::FunctionRef<void(int64_t, int64_t)> work) override;

  // Ends the step with this outcome. Call it once; this may be destroyed when it returns.
  void End(absl::Status status) noexcept;
  // Works until the step is over or `deadline` has passed; returns whether it is over.
  bool WorkUntil(absl::Time deadline) noexcept;
  // The same without a deadline; returns the outcome, after all tasks that were scheduled.
  absl::Status WorkToEnd() noexcept;

 private:
  // Outlives the step as long as the pool has tickets for it. Thread-safe.
  class Queue : public Counted {
   public:
    // The step does not end before HasBeenScheduled is called, too.
    void Push(absl::AnyInvocable<void()> task) ABSL_LOCKS_EXCLUDED(mu_);
    void HasBeenScheduled() noexcept ABSL_LOCKS_EXCLUDED(mu_);
    // Runs the oldest task. False when there is none.
    bool RunOne() noexcept ABSL_LOCKS_EXCLUDED(mu_);
    void End(absl::Status status) noexcept ABSL_LOCKS_EXCLUDED(mu_);
    bool WorkUntil(absl::Time deadline) noexcept ABSL_LOCKS_EXCLUDED(mu_);
    absl::Status status() const ABSL_LOCKS_EXCLUDED(mu_);

   private:
    mutable Mutex mu_;
    CondVar changed_;  // A task has come, or the end.
    std::deque<absl::AnyInvocable<void()>> tasks_ ABSL_GUARDED_BY(mu_);
    int num_scheduling_ ABSL_GUARDED_BY(mu_) = 0;  // Threads in Schedule, which use the pool.
    bool is_over_ ABSL_GUARDED_BY(mu_) = false;
    absl::Status status_ ABSL_GUARDED_BY(mu_);
  };

  TaskRunner* const threads_;
  const StepId step_id_;
  const CountedPtr<Queue> queue_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_STEP_TASKS_H_

#include "executor/session/step_tasks.h"

#include <utility>

#include "absl/time/clock.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/as_status.h"
#include "kernels/device/shard_plan.h"

namespace sluice {

void StepTasks::Queue::Push(absl::AnyInvocable<void()> task) {
  MutexLock lock(&mu_);
  tasks_.push_back(std::move(task));
  ++num_scheduling_;
  changed_.SignalAll();
}

void StepTasks::Queue::HasBeenScheduled() noexcept {
  MutexLock lock(&mu_);
  if (--num_scheduling_ == 0) changed_.SignalAll();
}

bool StepTasks::Queue::RunOne() noexcept {
  absl::AnyInvocable<void()> task;
  {
    MutexLock lock(&mu_);
    if (tasks_.empty()) return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  try {
    std::move(task)();
  } catch (...) {
    LogCaught("a task of a step");
  }
  return true;
}

void StepTasks::Queue::End(absl::Status status) noexcept {
  MutexLock lock(&mu_);
  status_ = std::move(status);
  is_over_ = true;
  changed_.SignalAll();
}

bool StepTasks::Queue::WorkUntil(absl::Time deadline) noexcept {
  for (bool is_late = false;;) {
    while (RunOne()) {
    }
    MutexLock lock(&mu_);
    while (tasks_.empty() && (!is_over_ || num_scheduling_ > 0)) {
      if (is_late) return false;
      is_late = changed_.WaitWithDeadline(&mu_, deadline);
    }
    if (tasks_.empty()) return true;
  }
}

absl::Status StepTasks::Queue::status() const {
  MutexLock lock(&mu_);
  return status_;
}

void StepTasks::Schedule(absl::AnyInvocable<void()> task) {
  const CountedPtr<Queue> queue = queue_;
  TaskRunner* const threads = threads_;
  const bool has_others = threads != nullptr && threads->num_threads() > 1;
  queue->Push(std::move(task));
  if (has_others) {
    try {
      threads->Schedule([queue] { queue->RunOne(); });
    } catch (...) {
      // The waiting thread will run it.
    }
  }
  queue->HasBeenScheduled();
}

void StepTasks::ParallelFor(int64_t total, double unit_ns, bool deterministic,
                            absl::FunctionRef<void(int64_t, int64_t)> work) {
  if (threads_ != nullptr) return threads_->ParallelFor(total, unit_ns, deterministic, work);
  if (total <= 0) return;
  const ShardPlan plan(total, unit_ns, deterministic ? 0 : 1);
  for (int64_t i = 0; i < plan.size(); ++i) work(plan.begin(i), plan.begin(i + 1));
}

void StepTasks::End(absl::Status status) noexcept {
  const CountedPtr<Queue> queue = queue_;
  queue->End(std::move(status));
}

bool StepTasks::WorkUntil(absl::Time deadline) noexcept {
  const ThreadRuns::WaitScope scope(step_id_);
  return queue_->WorkUntil(deadline);
}

absl::Status StepTasks::WorkToEnd() noexcept {
  WorkUntil(absl::InfiniteFuture());
  return queue_->status();
}

}  // namespace sluice

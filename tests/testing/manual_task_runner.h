#ifndef SLUICE_TESTS_TESTING_MANUAL_TASK_RUNNER_H_
#define SLUICE_TESTS_TESTING_MANUAL_TASK_RUNNER_H_

#include <cstdint>
#include <deque>
#include <new>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "kernels/device/task_runner.h"

namespace sluice {

// A TaskRunner whose tasks run when a test says so, on the test's thread. Not thread-safe.
class ManualTaskRunner final : public TaskRunner {
 public:
  explicit ManualTaskRunner(int num_threads) : num_threads_(num_threads) {}

  void Schedule(absl::AnyInvocable<void()> task) override {
    if (throws_) throw std::bad_alloc();
    ++num_scheduled_;
    tasks_.push_back(std::move(task));
  }
  int num_threads() const override { return num_threads_; }
  bool HasWaitingTasks() const override { return !tasks_.empty(); }
  void ParallelFor(int64_t total, double, bool, absl::FunctionRef<void(int64_t, int64_t)> work) override {
    if (total > 0) work(0, total);
  }

  // Whether Schedule throws.
  void set_throws(bool throws) { throws_ = throws; }
  // Runs the oldest task. False when there is none.
  bool RunOne() {
    if (tasks_.empty()) return false;
    absl::AnyInvocable<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    std::move(task)();
    return true;
  }
  // Drops the oldest task.
  void DropOne() { tasks_.pop_front(); }
  void RunAll() {
    while (RunOne()) {
    }
  }
  size_t num_waiting() const { return tasks_.size(); }
  int num_scheduled() const { return num_scheduled_; }

 private:
  const int num_threads_;
  bool throws_ = false;
  int num_scheduled_ = 0;
  std::deque<absl::AnyInvocable<void()>> tasks_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_MANUAL_TASK_RUNNER_H_

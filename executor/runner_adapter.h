#ifndef SLUICE_EXECUTOR_RUNNER_ADAPTER_H_
#define SLUICE_EXECUTOR_RUNNER_ADAPTER_H_

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "executor/executor.h"
#include "kernels/device/task_runner.h"

namespace sluice {

// Makes a TaskRunner of a host's Runner. Offers the host the work inside kernels, too; the calling thread does whatever
// the host has not begun, so a host that is slow, or runs closures one after the other, costs only time. Borrows
// `runner`, which must outlive it and be callable from any thread. Thread-safe.
class RunnerAdapter final : public TaskRunner {
 public:
  // `num_threads`: how many closures the host runs at once, the caller of ParallelFor included; at least 1.
  RunnerAdapter(const Runner& runner, int num_threads);

  void Schedule(absl::AnyInvocable<void()> task) override;
  int num_threads() const override { return num_threads_; }
  void ParallelFor(int64_t total, double unit_ns, bool deterministic,
                   absl::FunctionRef<void(int64_t, int64_t)> work) override;

 private:
  const Runner& runner_;
  const int num_threads_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_RUNNER_ADAPTER_H_

#ifndef SLUICE_KERNELS_DEVICE_TASK_RUNNER_H_
#define SLUICE_KERNELS_DEVICE_TASK_RUNNER_H_

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"

namespace sluice {

// Threads to run work on: a pool, or a host's own scheduler. Implemented in executor (thread_pool.h) and by hosts.
// Thread-safe.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;

  // Runs `task` some time, perhaps before returning. Never waits for it.
  virtual void Schedule(absl::AnyInvocable<void()> task) = 0;
  // How many threads work at once, the one that calls ParallelFor included. At least 1.
  virtual int num_threads() const = 0;

  // Whether tasks wait for a thread: a task that would take long then ends early and schedules the rest of itself. True
  // where that is not known, as by default. Called often.
  virtual bool HasWaitingTasks() const { return true; }

  // Calls `work(begin, end)` for parts that make up [0, total) and returns when all have returned. The caller works
  // too, and runs nothing but parts of this call meanwhile, so that a lock may be held around it. `unit_ns` is the time
  // one unit takes; what takes less than some 20 us stays on the calling thread. With `deterministic` the parts do not
  // depend on the number of threads. May be called from inside `work`.
  // Where `work` throws, parts that have not begun are left out, and the first exception is rethrown on the calling
  // thread after all others have returned.
  virtual void ParallelFor(int64_t total, double unit_ns, bool deterministic,
                           absl::FunctionRef<void(int64_t, int64_t)> work) = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_DEVICE_TASK_RUNNER_H_

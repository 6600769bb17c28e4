#ifndef SLUICE_EXECUTOR_RUN_SETUP_H_
#define SLUICE_EXECUTOR_RUN_SETUP_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "executor/cancellation_link.h"
#include "executor/executor.h"
#include "executor/runner_adapter.h"
#include "executor/threads/processors.h"
#include "graph/base/cancellation.h"
#include "kernels/device/device.h"
#include "kernels/device/task_runner.h"

namespace sluice {

// The Args of one run, completed by its executor with its device, its threads and a manager that the run may cancel.
// Lives as long as the run. Not thread-safe.
class RunSetup {
 public:
  // `device` may be null. `own`: a manager kept by the caller, for the run to cancel; if null, makes one when it is
  // needed.
  RunSetup(const Executor::Args& args, Device* device, CancellationManager* own = nullptr) : args_(args) {
    AddDevice(device, &args_);
    AddThreads(&args_, &adapter_);
    if (args_.cancel_on_error) return;
    args_.cancellation = own != nullptr ? own : &cancellation_.emplace(args_.cancellation).manager();
  }
  RunSetup(const RunSetup&) = delete;
  RunSetup& operator=(const RunSetup&) = delete;

  const Executor::Args& args() const { return args_; }

  // For Run. Its thread cancels the run when the deadline passes during its wait; by then other threads may have ended
  // the run and freed everything that belongs to it. So the manager of such a run lives in `kept`, in the frame of Run,
  // which outlives the run.
  static CancellationManager* KeepManager(const Executor::Args& args, std::optional<ChildManager>* kept) {
    return args.cancel_on_error ? nullptr : &kept->emplace(args.cancellation).manager();
  }

  static void AddDevice(Device* device, Executor::Args* args) {
    args->device = device;
    args->resources = device != nullptr ? &device->resources() : nullptr;
    if (args->allocator == nullptr && device != nullptr) args->allocator = &device->allocator();
  }
  // If the host gives a runner and no task runner, makes `adapter`, so that the runner also runs nodes and the work
  // inside kernels. Removes the task runner of a run that must stay on one thread.
  static void AddThreads(Executor::Args* args, std::unique_ptr<RunnerAdapter>* adapter) {
    if (args->run_all_kernels_inline) {
      args->task_runner = nullptr;
    } else if (args->task_runner == nullptr && args->runner != nullptr) {
      *adapter = std::make_unique<RunnerAdapter>(*args->runner, NumProcessors());
      args->task_runner = adapter->get();
    }
  }
  // Whether a run with these may work on several nodes at once.
  static bool HasSeveralThreads(const Executor::Args& args) {
    if (args.run_all_kernels_inline || (args.deterministic && !args.nodes_in_any_order)) return false;
    if (args.task_runner != nullptr) return args.task_runner->num_threads() > 1;
    return args.runner != nullptr && NumProcessors() > 1;
  }

 private:
  std::unique_ptr<RunnerAdapter> adapter_;    // Of a runner, where the host gives no other threads.
  std::optional<ChildManager> cancellation_;  // See Args::cancel_on_error.
  Executor::Args args_;
};

// Ends a run that failed with `error` outside of an ExecutorState: aborts and cancels what `args` name. Returns the
// status to report: `error`, or the cause of the cancellation if `error` says only that the run was cancelled.
absl::Status FailRun(const Executor::Args& args, const absl::Status& error) noexcept;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_RUN_SETUP_H_

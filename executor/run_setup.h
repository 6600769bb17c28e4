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

// The Args of one run, completed by its executor: with its device, with the threads that they come to, and with a
// manager that the run may cancel. Lives as long as the run. One thread's.
class RunSetup {
 public:
  // `device` may be null. `own` is the manager of a run whose starter keeps it; null: this makes one where it is
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

  // For Run: its thread cancels what it finds too late while it waits, when others may have ended the run and freed all
  // that is its own. So the manager that such a run gets is Run's. `kept` outlives the run.
  static CancellationManager* KeepManager(const Executor::Args& args, std::optional<ChildManager>* kept) {
    return args.cancel_on_error ? nullptr : &kept->emplace(args.cancellation).manager();
  }

  static void AddDevice(Device* device, Executor::Args* args) {
    args->device = device;
    args->resources = device != nullptr ? &device->resources() : nullptr;
    if (args->allocator == nullptr && device != nullptr) args->allocator = &device->allocator();
  }
  // A host that names a runner only has its nodes, and the work inside kernels, run by it, through `adapter`; a run
  // that must stay on one thread has no task runner.
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

// A run that got `args` has failed with `error` outside of an ExecutorState: what they say is aborted and cancelled.
// Returns what the run answers: `error`; if that only says that the run was cancelled, the reason for the cancellation.
absl::Status FailRun(const Executor::Args& args, const absl::Status& error) noexcept;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_RUN_SETUP_H_

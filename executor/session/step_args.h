#ifndef SLUICE_EXECUTOR_SESSION_STEP_ARGS_H_
#define SLUICE_EXECUTOR_SESSION_STEP_ARGS_H_

#include "executor/executor.h"
#include "executor/session/call_options.h"
#include "kernels/run_context.h"

namespace sluice {

// What an executor is told of the step that `run` and `options` describe; its call frame and its cancellation manager
// are the caller's to add.
inline Executor::Args StepArgs(const RunContext& run, const CallOptions& options) {
  Executor::Args args;
  static_cast<RunContext&>(args) = run;
  args.deadline = options.deadline;
  args.observer = options.observer;
  return args;
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_STEP_ARGS_H_

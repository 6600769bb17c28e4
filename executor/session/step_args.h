#ifndef SLUICE_EXECUTOR_SESSION_STEP_ARGS_H_
#define SLUICE_EXECUTOR_SESSION_STEP_ARGS_H_

#include "executor/executor.h"
#include "executor/session/call_options.h"
#include "kernels/run_context.h"

namespace sluice {

// What an executor is told of the step that `run` and `options` describe; its call frame, its cancellation manager and
// its allocator are the caller's to add.
inline Executor::Args StepArgs(const RunContext& run, const CallOptions& options) {
  Executor::Args args;
  args.step_id = run.step_id;
  args.rendezvous = run.rendezvous;
  args.session_state = run.session_state;
  args.tensor_store = run.tensor_store;
  args.step_container = run.step_container;
  args.task_runner = run.task_runner;
  args.deadline = options.deadline;
  args.observer = options.observer;
  args.deterministic = run.deterministic;
  args.gemm_plugin = run.gemm_plugin;
  return args;
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_STEP_ARGS_H_

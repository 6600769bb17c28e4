#ifndef SLUICE_EXECUTOR_HAND_OFF_H_
#define SLUICE_EXECUTOR_HAND_OFF_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "executor/executor.h"
#include "graph/value/counted.h"
#include "kernels/device/task_runner.h"

namespace sluice {

// Hands `task`, a OnceCallback that continues `run`, to `runner`, or to `threads` if `runner` is null. Returns OK when
// the task was accepted; the run may then be over already. Returns an error when the task was destroyed before this
// call returned, for example because the host threw; the caller must then end the run. REQUIRES: the caller holds a
// reference to `run` during the call.
absl::Status HandToThreads(const Counted& run, const Runner* runner, TaskRunner* threads,
                           absl::AnyInvocable<void()> task) noexcept;

// Called when a task of `run` is destroyed without having been called. Inside HandToThreads returns OK, because
// HandToThreads reports the error itself; otherwise returns the error, with which the caller ends the run on this
// thread.
absl::Status TaskWasDropped(const Counted& run) noexcept;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_HAND_OFF_H_

#ifndef SLUICE_EXECUTOR_HAND_OFF_H_
#define SLUICE_EXECUTOR_HAND_OFF_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "executor/executor.h"
#include "graph/value/counted.h"
#include "kernels/device/task_runner.h"

namespace sluice {

// Hands `task`, a OnceCallback that continues `run`, to `runner`, or to `threads` where that is null. OK: they have
// taken it, and the run may be over. An error: they have destroyed it before this returned, perhaps by an exception,
// and the caller ends the run. The caller holds a reference to `run` meanwhile.
absl::Status HandToThreads(const Counted& run, const Runner* runner, TaskRunner* threads,
                           absl::AnyInvocable<void()> task) noexcept;

// For a task of `run` that is destroyed uncalled. OK where that happens inside of HandToThreads, which returns the
// error. Else that error, and the run is to end on this thread.
absl::Status TaskWasDropped(const Counted& run) noexcept;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_HAND_OFF_H_

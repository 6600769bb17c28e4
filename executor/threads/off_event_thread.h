#ifndef SLUICE_EXECUTOR_THREADS_OFF_EVENT_THREAD_H_
#define SLUICE_EXECUTOR_THREADS_OFF_EVENT_THREAD_H_

#include <utility>

#include "executor/threads/thread_runs.h"

namespace sluice {

// Calls `end`, which ends calls of asynchronous kernels. If this thread is in no run, it may be the one that waits for
// a device's events, which must not run kernels; the runs that `end` makes ready then continue on their own threads, or
// on a service thread.
template <typename End>
void CallOffEventThread(End&& end) {
  ThreadRuns& runs = ThreadRuns::Current();
  if (runs.depth() > 0) return std::forward<End>(end)();
  const ThreadRuns::Scope scope;
  std::forward<End>(end)();
  runs.HandToAnyThread();
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_OFF_EVENT_THREAD_H_

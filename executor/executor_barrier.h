#ifndef SLUICE_EXECUTOR_EXECUTOR_BARRIER_H_
#define SLUICE_EXECUTOR_EXECUTOR_BARRIER_H_

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "executor/executor.h"
#include "graph/base/mutex.h"
#include "rendezvous/rendezvous.h"

namespace sluice {

// Joins the executors of one step: each of `count` runs gets a Done from Get(); after the last call, the barrier calls
// its own `done` with the first error that is a cause, else the first error that is a consequence (CANCELLED, ABORTED
// and errors marked as derived), else OK. A Done that is destroyed uncalled counts as called with kRunCancelled. The
// first error aborts the rendezvous at once, so that no executor waits for one that has stopped.
//
//   ExecutorBarrier& barrier = ExecutorBarrier::Create(2, rendezvous, std::move(done));
//   for (Executor* executor : executors) executor->RunAsync(args, barrier.Get());
//
// Owns itself; destroyed before `done` is called. Thread-safe.
class ExecutorBarrier {
 public:
  // `rendezvous` may be null; it must live until `done` was called. REQUIRES: count > 0.
  static ExecutorBarrier& Create(size_t count, Rendezvous* rendezvous, Executor::Done done);
  ExecutorBarrier(const ExecutorBarrier&) = delete;
  ExecutorBarrier& operator=(const ExecutorBarrier&) = delete;

  // Call it `count` times; each returned callback must be called at most once. Does not throw.
  Executor::Done Get();

 private:
  ExecutorBarrier(size_t count, Rendezvous* rendezvous, Executor::Done done)
      : rendezvous_(rendezvous), left_(count), done_(std::move(done)) {}

  void OneIsDone(const absl::Status& status) noexcept ABSL_LOCKS_EXCLUDED(mu_);
  void OneWasDropped() noexcept ABSL_LOCKS_EXCLUDED(mu_);

  Rendezvous* const rendezvous_;
  std::unique_ptr<ExecutorBarrier> self_;  // Until the last call.
  Mutex mu_;
  size_t left_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  Executor::Done done_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_EXECUTOR_BARRIER_H_

#ifndef SLUICE_KERNELS_WORKERS_H_
#define SLUICE_KERNELS_WORKERS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "graph/value/allocator.h"
#include "kernels/run_context.h"

namespace sluice {

class CancellationManager;
class TaskRunner;

// Note [Workers]
// Workers are the threads that one call of a kernel may use, for work that KernelContext::ParallelFor is too simple
// for: parts that can fail, shards that the caller cuts itself, memory for each thread (worker_scratch.h).
//
//   const Workers workers(context.run());
//   SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, WorkerScratch::Make(workers, shards, bytes, &kept_));
//   return workers.ForEachShard(shards, shard_ns, [&](int64_t shard, int worker) -> absl::Status {
//     return Convolve(shard, scratch.of(worker));
//   });
//
//   1. The first failure by the order of shards, not by time, is returned: shards before it always run, those after it
//      are skipped unless they have begun. So the error does not depend on the number of threads.
//   2. An exception is a failure like a status. It is rethrown on the calling thread, and becomes the node's status, as
//      any exception of a kernel.
//   3. The run's cancellation and deadline are polled between shards (short ones: every 20 us or so, others: before
//      each): the call ends soon, with kRunCancelled or kDeadline. A failure takes precedence.
//   4. All started shards have ended when the call returns. A thread inside a shard runs nothing but shards of calls
//      that it makes there itself, so that a lock may be held around a call.
//   5. Worker indices are small and dense: at most min(count(), shards) of them are in use at a time, each by one
//      thread, and what one shard wrote under an index is seen by the next shard under that index. Results must not
//      depend on the index: which worker gets which shard differs from run to run.
//
// An engine with a thread pool interface of its own (oneDNN, say) gets one made from these: count() is the number of
// its threads, ForEachShard(n, kUnknownNs, ...) its parallel loop, IsInShard() the answer to "in a parallel region".
// That needs neither a KernelContext nor a run: Workers(&runner) will do.

// A small value; borrows what the RunContext names. Thread-safe.
class Workers {
 public:
  // For shards of unknown time: each is worth a thread.
  static constexpr double kUnknownNs = 1e6;
  // The bound of worker indices; further threads wait for one.
  static constexpr int kMaxCount = 1024;

  // The workers of a run.
  explicit Workers(const RunContext& run);
  // The workers of `runner`, without cancellation. Null: the calling thread alone.
  explicit Workers(TaskRunner* runner);

  // How many threads work at once, the calling one included; worker indices are below. At least 1. Read from the runner
  // once: memory is made for so many, though a host's runner may have more threads later.
  int count() const { return count_; }
  // Whether equal work must be cut equally whatever count() is.
  bool deterministic() const { return deterministic_; }
  // For memory of the caller's own.
  Allocator& allocator() const { return allocator_ != nullptr ? *allocator_ : HostAllocator(); }
  // May be null.
  Device* device() const { return device_; }

  // Calls `work(shard, worker)` for all shards from 0 to `num_shards` - 1; see Note [Workers]. `shard_ns` is the time
  // of one: those that take much less than 20 us are given out several at a time.
  absl::Status ForEachShard(int64_t num_shards, double shard_ns,
                            absl::FunctionRef<absl::Status(int64_t shard, int worker)> work) const;
  // Calls `work(begin, end)` for parts that make up [0, total), cut as KernelContext::ParallelFor cuts them; `unit_ns`
  // is the time of one unit. Where `work` goes through its part in order and returns its first error, the error of the
  // first unit that fails is returned.
  absl::Status ForEachPart(int64_t total, double unit_ns,
                           absl::FunctionRef<absl::Status(int64_t begin, int64_t end)> work) const;

  // OK, or why the run must stop: kRunCancelled or kDeadline. For loops that last longer than a shard should. The cause
  // of a cancellation is not the polling node's error: the executor replaces kRunCancelled by it.
  absl::Status Poll() const;
  // The same, without allocating.
  bool MustStop() const;
  // Poll after MustStop() was true: never OK, even if the clock was put back meanwhile.
  absl::Status WhyStopped() const;

  // Whether the calling thread is in a shard or part of some Workers.
  static bool IsInShard();

 private:
  class Call;

  TaskRunner* runner_;
  int count_;
  CancellationManager* cancellation_ = nullptr;
  Allocator* allocator_ = nullptr;
  Device* device_ = nullptr;
  absl::Time deadline_ = absl::InfiniteFuture();
  bool deterministic_ = false;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_WORKERS_H_

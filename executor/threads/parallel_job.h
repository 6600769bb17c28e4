#ifndef SLUICE_EXECUTOR_THREADS_PARALLEL_JOB_H_
#define SLUICE_EXECUTOR_THREADS_PARALLEL_JOB_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "executor/threads/flush_denormals.h"
#include "graph/base/check.h"
#include "graph/base/mutex.h"
#include "kernels/device/shard_plan.h"

namespace sluice {

// The shards of one ParallelFor, taken one after the other by all threads that take part. Lives with the caller, which
// waits for those that joined. Thread-safe.
class ParallelJob {
 public:
  ParallelJob(const ShardPlan& plan, absl::FunctionRef<void(int64_t, int64_t)> work) : plan_(plan), work_(work) {}

  // Works until no shard is left; other threads may still be working on theirs then. An exception is kept for
  // RethrowFailure, and shards that have not begun are left out: all before the one that failed have begun, so that the
  // first failure by order, which is the one that counts, does not depend on the number of threads.
  void Work() noexcept {
    const FlushDenormals flush;
    const CheckScope checks;
    for (;;) {
      // Relaxed: results are published by the code that counts the threads in and out, not by this.
      const int64_t shard = next_.fetch_add(1, std::memory_order_relaxed);
      if (shard >= plan_.size()) return;
      try {
        work_(plan_.begin(shard), plan_.begin(shard + 1));
      } catch (...) {
        Fail(shard, std::current_exception());
        next_.store(plan_.size(), std::memory_order_relaxed);
      }
    }
  }
  bool IsExhausted() const { return next_.load(std::memory_order_relaxed) >= plan_.size(); }

  // Throws what the first shard, by order, of those that failed has thrown. REQUIRES: every thread has returned from
  // Work, and what they wrote is visible here.
  void RethrowFailure() ABSL_LOCKS_EXCLUDED(mu_) {
    std::exception_ptr failure;
    {
      MutexLock lock(&mu_);
      failure = std::exchange(failure_, nullptr);
    }
    if (failure != nullptr) std::rethrow_exception(std::move(failure));
  }

 private:
  void Fail(int64_t shard, std::exception_ptr failure) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (failure_ != nullptr && failed_ < shard) return;
    failure_ = std::move(failure);
    failed_ = shard;
  }

  const ShardPlan plan_;
  const absl::FunctionRef<void(int64_t, int64_t)> work_;
  std::atomic<int64_t> next_{0};
  Mutex mu_;
  std::exception_ptr failure_ ABSL_GUARDED_BY(mu_);
  int64_t failed_ ABSL_GUARDED_BY(mu_) = 0;  // The shard of failure_.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_THREADS_PARALLEL_JOB_H_

#ifndef SLUICE_EXECUTOR_PARALLEL_JOB_H_
#define SLUICE_EXECUTOR_PARALLEL_JOB_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include "absl/functional/function_ref.h"
#include "executor/flush_denormals.h"
#include "graph/base/check.h"
#include "kernels/device/shard_plan.h"

namespace sluice {

// The shards of one ParallelFor, taken one after the other by all threads that take part. Lives with the caller, which
// waits for those that joined. Thread-safe.
class ParallelJob {
 public:
  ParallelJob(const ShardPlan& plan, absl::FunctionRef<void(int64_t, int64_t)> work) : plan_(plan), work_(work) {}

  // Works until no shard is left; other threads may still be at theirs then. The first exception of any shard is kept
  // for RethrowFailure, and shards that have not begun are left out.
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
        if (!has_failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
        next_.store(plan_.size(), std::memory_order_relaxed);
      }
    }
  }
  bool IsExhausted() const { return next_.load(std::memory_order_relaxed) >= plan_.size(); }

  // Throws what the first shard that failed has thrown. REQUIRES: every thread has returned from Work, and what they
  // wrote is visible here.
  void RethrowFailure() {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  const ShardPlan plan_;
  const absl::FunctionRef<void(int64_t, int64_t)> work_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> has_failed_{false};
  std::exception_ptr failure_;  // Written by the thread that has set has_failed_.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PARALLEL_JOB_H_

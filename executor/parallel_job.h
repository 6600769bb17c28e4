#ifndef SLUICE_EXECUTOR_PARALLEL_JOB_H_
#define SLUICE_EXECUTOR_PARALLEL_JOB_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "executor/flush_denormals.h"
#include "kernels/device/shard_plan.h"

namespace sluice {

// The shards of one ParallelFor, taken one after the other by all threads that take part. Lives with the caller, who
// waits for those that joined. Thread-safe.
class ParallelJob {
 public:
  ParallelJob(const ShardPlan& plan, absl::FunctionRef<void(int64_t, int64_t)> work) : plan_(plan), work_(work) {}

  // Works until no shard is left; others may still be at theirs then.
  void Work() {
    const FlushDenormals flush;
    for (;;) {
      // Relaxed: results are published by whoever counts the threads in and out, not by this.
      const int64_t shard = next_.fetch_add(1, std::memory_order_relaxed);
      if (shard >= plan_.size()) return;
      work_(plan_.begin(shard), plan_.begin(shard + 1));
    }
  }
  bool IsExhausted() const { return next_.load(std::memory_order_relaxed) >= plan_.size(); }

 private:
  const ShardPlan plan_;
  const absl::FunctionRef<void(int64_t, int64_t)> work_;
  std::atomic<int64_t> next_{0};
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PARALLEL_JOB_H_

#include "kernels/workers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "kernels/device/shard_plan.h"
#include "kernels/device/task_runner.h"

namespace sluice {
namespace {

// Looks at the clock and the cancellation are so far apart, where shards are shorter.
constexpr double kPollNs = 20e3;
// Parts without borders of their own are cut no finer than this for the sake of a look.
constexpr double kPartNs = 5e6;

thread_local int shards_of_thread = 0;

// Marks the calling thread as being in a shard.
class InShard {
 public:
  InShard() { ++shards_of_thread; }
  InShard(const InShard&) = delete;
  InShard& operator=(const InShard&) = delete;
  ~InShard() { --shards_of_thread; }
};

// How many things of `each_ns` come to `ns`: at least 1.
int64_t CountIn(double ns, double each_ns, int64_t limit) {
  const double count = ns / each_ns;
  if (!(count < static_cast<double>(limit))) return std::max<int64_t>(1, limit);  // So for NaN, too.
  return count < 1 ? 1 : static_cast<int64_t>(count);
}

int CountOf(const TaskRunner* runner) {
  return runner == nullptr ? 1 : std::clamp(runner->num_threads(), 1, Workers::kMaxCount);
}

// Which worker indices are in use in one call. Thread-safe, without locks: a claim is one exchange.
class WorkerIndices {
 public:
  explicit WorkerIndices(int count) : count_(count) {}

  // The lowest index that is free. A runner that lets more threads work at once than it says makes them wait here.
  int Claim() {
    for (;;) {
      for (int first = 0; first < count_; first += 64) {
        std::atomic<uint64_t>& word = used_[static_cast<size_t>(first / 64)];
        uint64_t used = word.load(std::memory_order_relaxed);
        for (;;) {
          const uint64_t free = ~used;
          const int index = free == 0 ? count_ : first + __builtin_ctzll(free);
          if (index >= count_) break;
          const uint64_t bit = free & (~free + 1);
          // Acquire: what the last worker of this index wrote is seen. On failure `used` is read again.
          if (word.compare_exchange_weak(used, used | bit, std::memory_order_acquire, std::memory_order_relaxed)) {
            return index;
          }
        }
      }
      std::this_thread::yield();
    }
  }
  void Release(int index) {
    const uint64_t bit = uint64_t{1} << (index % 64);
    // Release: what was written under the index is seen under it.
    used_[static_cast<size_t>(index / 64)].fetch_and(~bit, std::memory_order_release);
  }

 private:
  const int count_;
  std::array<std::atomic<uint64_t>, Workers::kMaxCount / 64> used_{};
};

}  // namespace

// One call of ForEachShard or ForEachPart: what has failed so far. Lives with the caller. Thread-safe.
class Workers::Call {
 public:
  explicit Call(const Workers& workers) : workers_(workers) {}

  // Whether what begins at `at` is still wanted. Where the run must stop, nothing is.
  bool Continues(int64_t at, bool looks) {
    if (stopped_.load(std::memory_order_relaxed) || at > first_failed_.load(std::memory_order_relaxed)) return false;
    if (!looks || !workers_.MustStop()) return true;
    stopped_.store(true, std::memory_order_relaxed);  // Read by End after all threads have left, or as a hint.
    return false;
  }

  // Calls `work()` and notes a failure, at `at`. False: it has failed.
  template <typename Work>
  bool Try(int64_t at, const Work& work) {
    try {
      absl::Status status = work();
      if (status.ok()) return true;
      Fail(at, std::move(status), nullptr);
    } catch (...) {
      Fail(at, absl::OkStatus(), std::current_exception());
    }
    return false;
  }

  // The result. REQUIRES: no thread is in the call any more.
  absl::Status End() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    if (exception_ != nullptr) std::rethrow_exception(std::exchange(exception_, nullptr));
    if (!status_.ok() || !stopped_.load(std::memory_order_relaxed)) return std::move(status_);
    return workers_.WhyStopped();
  }

 private:
  void Fail(int64_t at, absl::Status status, std::exception_ptr exception) noexcept ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    // The first by order replaces those that came before it by the clock.
    if (at > first_failed_.load(std::memory_order_relaxed)) return;
    first_failed_.store(at, std::memory_order_relaxed);
    status_ = std::move(status);
    exception_ = std::move(exception);
  }

  const Workers& workers_;
  std::atomic<bool> stopped_{false};
  // Changes under mu_, read without: what comes after it need not begin.
  std::atomic<int64_t> first_failed_{std::numeric_limits<int64_t>::max()};
  Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::exception_ptr exception_ ABSL_GUARDED_BY(mu_);
};

Workers::Workers(const RunContext& run)
    : runner_(run.task_runner),
      count_(CountOf(run.task_runner)),
      cancellation_(run.cancellation),
      allocator_(run.allocator),
      device_(run.device),
      deadline_(run.deadline),
      deterministic_(run.deterministic) {}

Workers::Workers(TaskRunner* runner) : runner_(runner), count_(CountOf(runner)) {}

bool Workers::IsInShard() { return shards_of_thread > 0; }

bool Workers::MustStop() const {
  if (cancellation_ != nullptr && cancellation_->IsCancelling()) return true;
  return deadline_ != absl::InfiniteFuture() && absl::Now() >= deadline_;
}

absl::Status Workers::Poll() const { return MustStop() ? WhyStopped() : absl::OkStatus(); }

absl::Status Workers::WhyStopped() const {
  if (cancellation_ != nullptr && cancellation_->IsCancelling()) {
    return Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
  }
  return Error(ErrorCode::kDeadline).Text("the deadline of the run has passed");
}

absl::Status Workers::ForEachShard(int64_t num_shards, double shard_ns,
                                   absl::FunctionRef<absl::Status(int64_t, int)> work) const {
  if (num_shards <= 0) return absl::OkStatus();
  Call call(*this);
  WorkerIndices indices(static_cast<int>(std::min<int64_t>(count(), num_shards)));
  const int64_t poll_every = CountIn(kPollNs, shard_ns, num_shards);
  const auto range = [&](int64_t begin, int64_t end) {
    const InShard in_shard;
    const int worker = indices.Claim();
    for (int64_t shard = begin; shard < end; ++shard) {
      if (!call.Continues(shard, (shard - begin) % poll_every == 0)) break;
      if (!call.Try(shard, [&] { return work(shard, worker); })) break;
    }
    indices.Release(worker);
  };
  // Which shards a thread gets together is of no account for the results.
  if (runner_ != nullptr) {
    runner_->ParallelFor(num_shards, shard_ns, /*deterministic=*/false, range);
  } else {
    range(0, num_shards);
  }
  return call.End();
}

absl::Status Workers::ForEachPart(int64_t total, double unit_ns,
                                  absl::FunctionRef<absl::Status(int64_t, int64_t)> work) const {
  if (total <= 0) return absl::OkStatus();
  Call call(*this);
  const int64_t step = CountIn(kPartNs, unit_ns, total);
  const auto range = [&](int64_t begin, int64_t end) {
    const InShard in_shard;
    while (begin < end) {
      const int64_t part_end = end - begin > step ? begin + step : end;
      if (!call.Continues(begin, true) || !call.Try(begin, [&] { return work(begin, part_end); })) return;
      begin = part_end;
    }
  };
  if (runner_ != nullptr) {
    runner_->ParallelFor(total, unit_ns, deterministic_, range);
  } else {
    const ShardPlan plan(total, unit_ns, deterministic_ ? 0 : 1);
    for (int64_t i = 0; i < plan.size(); ++i) range(plan.begin(i), plan.begin(i + 1));
  }
  return call.End();
}

}  // namespace sluice

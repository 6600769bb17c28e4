#include "kernels/workers.h"

#include <atomic>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/cancellation.h"
#include "gtest/gtest.h"
#include "kernels/device/shard_plan.h"
#include "kernels/device/task_runner.h"

namespace sluice {
namespace {

absl::Status Failure(int64_t shard) { return absl::InvalidArgumentError(absl::StrCat("shard ", shard)); }

ThreadPoolOptions OfSize(int num_threads) {
  ThreadPoolOptions options;
  options.num_threads = num_threads;
  return options;
}

// With pools of several sizes; 0: without one.
class WorkersTest : public ::testing::TestWithParam<int> {
 protected:
  WorkersTest() {
    if (GetParam() > 0) run_.task_runner = &pool_;
  }
  absl::Status ForEachShard(int64_t shards, absl::FunctionRef<absl::Status(int64_t, int)> work) const {
    return Workers(run_).ForEachShard(shards, Workers::kUnknownNs, work);
  }

  ThreadPool pool_{OfSize(GetParam() > 0 ? GetParam() : 1)};
  RunContext run_;
};

INSTANTIATE_TEST_SUITE_P(Threads, WorkersTest, ::testing::Values(0, 1, 2, 8));

TEST_P(WorkersTest, EachShardRunsOnce) {
  for (const int64_t shards : {1, 2, 7, 300}) {
    for (const double shard_ns : {1.0, 5e3, Workers::kUnknownNs}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(shards));
      const absl::Status status = Workers(run_).ForEachShard(shards, shard_ns, [&](int64_t shard, int) {
        runs[static_cast<size_t>(shard)].fetch_add(1);
        return absl::OkStatus();
      });
      EXPECT_TRUE(status.ok()) << status;
      for (const std::atomic<int>& n : runs) ASSERT_EQ(n, 1);
    }
  }
  EXPECT_TRUE(ForEachShard(0, [](int64_t shard, int) { return Failure(shard); }).ok());
}

TEST_P(WorkersTest, PartsCoverEachUnitOnce) {
  std::vector<std::atomic<int>> runs(1003);
  const absl::Status status = Workers(run_).ForEachPart(1003, 1e5, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) runs[static_cast<size_t>(i)].fetch_add(1);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  for (const std::atomic<int>& n : runs) ASSERT_EQ(n, 1);
}

// With and without threads: where a loop begins may decide which NaN an element gets.
TEST_P(WorkersTest, DeterministicPartsAreCutAtTheSamePlaces) {
  run_.deterministic = true;
  const ShardPlan plan(1003, 1e5, 0);
  std::vector<std::atomic<int>> begins(1003);
  const absl::Status status = Workers(run_).ForEachPart(1003, 1e5, [&](int64_t begin, int64_t) {
    begins[static_cast<size_t>(begin)].fetch_add(1);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  int64_t parts = 0;
  for (const std::atomic<int>& n : begins) parts += n;
  EXPECT_EQ(parts, plan.size());
  for (int64_t i = 0; i < plan.size(); ++i) EXPECT_EQ(begins[static_cast<size_t>(plan.begin(i))], 1) << i;
}

TEST_P(WorkersTest, TheFirstFailureByOrderCountsNotByTheClock) {
  for (int round = 0; round < 20; ++round) {
    const absl::Status status = ForEachShard(64, [&](int64_t shard, int) {
      if (shard == 3) absl::SleepFor(absl::Milliseconds(1));  // Fails last.
      return shard % 8 == 3 ? Failure(shard) : absl::OkStatus();
    });
    ASSERT_EQ(status, Failure(3));
  }
}

TEST_P(WorkersTest, PartsReportTheFirstUnitThatFails) {
  const absl::Status status = Workers(run_).ForEachPart(64, 1e6, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i >= 37) return Failure(i);
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(status, Failure(37));
}

TEST_P(WorkersTest, ShardsAfterAFailureAreLeftOut) {
  std::atomic<int> runs{0};
  EXPECT_EQ(ForEachShard(1'000'000,
                         [&](int64_t shard, int) {
                           runs.fetch_add(1);
                           return Failure(shard);
                         }),
            Failure(0));
  EXPECT_LE(runs, 8 * 8);  // One for each range of shards at most.
}

TEST_P(WorkersTest, AnExceptionOfAnEarlierShardReplacesAStatusAndTheOtherWayRound) {
  const auto fail = [&](int64_t throws, int64_t fails) {
    return ForEachShard(16, [&](int64_t shard, int) -> absl::Status {
      if (shard == throws) throw std::runtime_error("thrown");
      return shard == fails ? Failure(shard) : absl::OkStatus();
    });
  };
  EXPECT_THROW(fail(2, 9).IgnoreError(), std::runtime_error);
  EXPECT_EQ(fail(9, 2), Failure(2));
  EXPECT_TRUE(fail(-1, -1).ok()) << "usable afterwards";
}

TEST_P(WorkersTest, ACancelledRunStopsBetweenShards) {
  CancellationManager cancellation;
  run_.cancellation = &cancellation;
  std::atomic<int> runs{0};
  const absl::Status status = ForEachShard(1'000'000, [&](int64_t, int) {
    // Each thread that comes so far cancels: none runs on while another one is about to.
    if (runs.fetch_add(1) >= 5) cancellation.StartCancelWithStatus(absl::CancelledError("a cause"));
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_LE(runs, 6 + 8);
  EXPECT_EQ(ForEachShard(4, [](int64_t shard, int) { return Failure(shard); }).code(), absl::StatusCode::kCancelled)
      << "begins nothing";
}

// The executor knows it, and does not take it for an error of the node's.
TEST_P(WorkersTest, TheCauseOfACancellationIsNotTheKernelsError) {
  CancellationManager cancellation;
  run_.cancellation = &cancellation;
  cancellation.StartCancelWithStatus(absl::UnavailableError("the peer is gone"));
  EXPECT_EQ(Workers(run_).Poll().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ForEachShard(4, [](int64_t, int) { return absl::OkStatus(); }).code(), absl::StatusCode::kCancelled);
}

TEST_P(WorkersTest, AFailureComesBeforeTheCancellation) {
  CancellationManager cancellation;
  run_.cancellation = &cancellation;
  const absl::Status status = ForEachShard(1000, [&](int64_t shard, int) {
    cancellation.StartCancel();
    return Failure(shard);
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(WorkersTest, ALateRunStopsBetweenShards) {
  run_.deadline = absl::Now() + absl::Milliseconds(5);
  std::atomic<int> runs{0};
  const auto shard = [&](int64_t, int) {
    runs.fetch_add(1);
    absl::SleepFor(absl::Milliseconds(1));
    return absl::OkStatus();
  };
  EXPECT_EQ(ForEachShard(100'000, shard).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(runs, 100'000);
  runs = 0;
  EXPECT_EQ(Workers(run_).ForEachPart(10, 1e6, [&](int64_t, int64_t) { return shard(0, 0); }).code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(runs, 0);
}

TEST_P(WorkersTest, AWorkerIndexIsOneThreadsAtATimeAndBelowTheCount) {
  const Workers workers(run_);
  std::vector<std::atomic<int>> inside(static_cast<size_t>(workers.count()));
  std::vector<int64_t> sums(static_cast<size_t>(workers.count()), 0);  // Plain: TSan sees what is not published.
  const absl::Status status = workers.ForEachShard(500, Workers::kUnknownNs, [&](int64_t shard, int worker) {
    const auto index = static_cast<size_t>(worker);
    if (worker >= workers.count() || inside[index].fetch_add(1) != 0) return Failure(shard);
    sums[index] += shard;
    inside[index].fetch_sub(1);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), int64_t{0}), 500 * 499 / 2);
}

TEST_P(WorkersTest, FewShardsUseFewIndices) {
  const absl::Status status = ForEachShard(2, [](int64_t shard, int worker) {
    absl::SleepFor(absl::Microseconds(100));
    return worker < 2 ? absl::OkStatus() : Failure(shard);
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST_P(WorkersTest, CallsNestAndSayThatTheyDo) {
  EXPECT_FALSE(Workers::IsInShard());
  std::atomic<int> runs{0};
  const absl::Status status = ForEachShard(8, [&](int64_t outer, int) -> absl::Status {
    if (!Workers::IsInShard()) return Failure(outer);
    return ForEachShard(8, [&](int64_t, int) {
      runs.fetch_add(1);
      return absl::OkStatus();
    });
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(runs, 64);
  EXPECT_FALSE(Workers::IsInShard());
}

// A host that has more threads than it says.
class OneAtATime : public TaskRunner {
 public:
  explicit OneAtATime(TaskRunner& threads) : threads_(threads) {}
  void Schedule(absl::AnyInvocable<void()> task) override { threads_.Schedule(std::move(task)); }
  int num_threads() const override { return 1; }
  void ParallelFor(int64_t total, double unit_ns, bool deterministic,
                   absl::FunctionRef<void(int64_t, int64_t)> work) override {
    threads_.ParallelFor(total, unit_ns, deterministic, work);
  }

 private:
  TaskRunner& threads_;
};

TEST_P(WorkersTest, ThreadsBeyondTheCountWaitForAnIndex) {
  OneAtATime runner(pool_);
  int64_t sum = 0;  // Plain: worker 0's alone.
  const absl::Status status = Workers(&runner).ForEachShard(64, Workers::kUnknownNs, [&](int64_t shard, int worker) {
    sum += shard;
    return worker == 0 ? absl::OkStatus() : Failure(shard);
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(sum, 64 * 63 / 2);
}

// A host's pool that has one thread more each time it is asked.
class GrowingRunner : public TaskRunner {
 public:
  explicit GrowingRunner(TaskRunner& threads) : threads_(threads) {}
  void Schedule(absl::AnyInvocable<void()> task) override { threads_.Schedule(std::move(task)); }
  int num_threads() const override { return num_threads_.fetch_add(1); }
  void ParallelFor(int64_t total, double unit_ns, bool deterministic,
                   absl::FunctionRef<void(int64_t, int64_t)> work) override {
    threads_.ParallelFor(total, unit_ns, deterministic, work);
  }

 private:
  TaskRunner& threads_;
  mutable std::atomic<int> num_threads_{1};
};

// Scratch memory was made for the count that was given first.
TEST_P(WorkersTest, TheCountStaysThoughTheRunnerGrows) {
  GrowingRunner runner(pool_);
  const Workers workers(&runner);
  const int count = workers.count();
  const absl::Status status = workers.ForEachShard(64, Workers::kUnknownNs, [&](int64_t shard, int worker) {
    absl::SleepFor(absl::Microseconds(100));
    return worker < count ? absl::OkStatus() : Failure(shard);
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(workers.count(), count);
}

// What an engine asks of its host: oneDNN's threadpool_iface in shape. Exceptions must not pass through the engine.
class EngineThreads {
 public:
  explicit EngineThreads(const Workers& workers) : workers_(workers) {}
  int get_num_threads() const { return workers_.count(); }
  bool get_in_parallel() const { return Workers::IsInShard(); }
  void parallel_for(int n, const std::function<void(int i, int n)>& body) {
    const absl::Status status = workers_.ForEachShard(n, Workers::kUnknownNs, [&](int64_t i, int) {
      body(static_cast<int>(i), n);
      return absl::OkStatus();
    });
    if (status_.ok()) status_ = status;
  }
  const absl::Status& status() const { return status_; }

 private:
  const Workers workers_;
  absl::Status status_;
};

// An engine: sums in as many chunks as there are threads, in one where it is in parallel already.
double SumByEngine(EngineThreads& threads, const std::vector<double>& values) {
  const int chunks = threads.get_in_parallel() ? 1 : threads.get_num_threads();
  std::vector<double> sums(static_cast<size_t>(chunks), 0);
  threads.parallel_for(chunks, [&](int i, int n) {
    for (size_t at = static_cast<size_t>(i); at < values.size(); at += static_cast<size_t>(n)) {
      sums[static_cast<size_t>(i)] += values[at];
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

TEST_P(WorkersTest, AnEnginesThreadPoolIsMadeOfThem) {
  const std::vector<double> values(10'000, 1.0);
  EngineThreads threads(Workers(GetParam() > 0 ? &pool_ : nullptr));
  EXPECT_EQ(threads.get_num_threads(), GetParam() > 0 ? GetParam() : 1);
  EXPECT_EQ(SumByEngine(threads, values), 10'000);
  EXPECT_TRUE(threads.status().ok());
  EXPECT_FALSE(threads.get_in_parallel());
}

TEST_P(WorkersTest, AnEngineOfACancelledRunStops) {
  CancellationManager cancellation;
  run_.cancellation = &cancellation;
  cancellation.StartCancel();
  EngineThreads threads{Workers(run_)};
  SumByEngine(threads, {1.0});
  EXPECT_EQ(threads.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sluice

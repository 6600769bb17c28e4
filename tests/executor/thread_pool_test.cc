#include "executor/threads/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "executor/threads/flush_denormals.h"
#include "graph/base/mutex.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

ThreadPoolOptions OfSize(int num_threads) {
  ThreadPoolOptions options;
  options.num_threads = num_threads;
  return options;
}

// Counts down; Wait returns at zero.
class Countdown {
 public:
  explicit Countdown(int count) : left_(count) {}
  void Decrement() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) is_zero_.Notify();
  }
  void Wait() { is_zero_.WaitForNotification(); }

 private:
  std::atomic<int> left_;
  Notification is_zero_;
};

class ThreadPoolTest : public testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{OfSize(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolTest, testing::Values(1, 2, 8));

TEST_P(ThreadPoolTest, EachTaskRunsOnce) {
  constexpr int kTasks = 1000;
  std::vector<std::atomic<int>> runs(kTasks);
  Countdown left(kTasks);
  for (int i = 0; i < kTasks; ++i) {
    pool_.Schedule([&, i] {
      runs[static_cast<size_t>(i)].fetch_add(1);
      left.Decrement();
    });
  }
  left.Wait();
  for (const std::atomic<int>& n : runs) EXPECT_EQ(n, 1);
}

TEST_P(ThreadPoolTest, TasksMayScheduleTasks) {
  Countdown left(127);
  std::function<void(int)> grow = [&](int depth) {
    for (int child = 0; depth < 6 && child < 2; ++child) pool_.Schedule([&grow, depth] { grow(depth + 1); });
    left.Decrement();
  };
  pool_.Schedule([&] { grow(0); });
  left.Wait();
}

TEST_P(ThreadPoolTest, ThreadsStartWithTheFirstWorkAndAreExactlyAsManyAsAsked) {
  EXPECT_EQ(pool_.num_threads(), GetParam());
  EXPECT_EQ(pool_.num_started(), 0);
  pool_.ParallelFor(4, 1e6, false, [](int64_t, int64_t) {});
  EXPECT_EQ(pool_.num_started(), GetParam() - 1);
  pool_.Schedule([] {});
  EXPECT_EQ(pool_.num_started(), std::max(1, GetParam() - 1)) << "a pool of one runs what is scheduled";
}

TEST_P(ThreadPoolTest, NeverMoreThreadsAtOnceThanItsSize) {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  pool_.ParallelFor(64, 1e6, false, [&](int64_t begin, int64_t end) {
    const int busy = now.fetch_add(1) + 1;
    for (int seen = most; seen < busy && !most.compare_exchange_weak(seen, busy);) {
    }
    for (int64_t i = begin; i < end; ++i) absl::SleepFor(absl::Microseconds(50));
    now.fetch_sub(1);
  });
  EXPECT_LE(most, GetParam());
}

TEST_P(ThreadPoolTest, ParallelForCoversEachUnitOnce) {
  for (const int64_t total : {1, 2, 7, 1000, 100003}) {
    std::vector<std::atomic<int>> runs(static_cast<size_t>(total));
    pool_.ParallelFor(total, 1e3, false, [&](int64_t begin, int64_t end) {
      EXPECT_LT(begin, end);
      for (int64_t i = begin; i < end; ++i) runs[static_cast<size_t>(i)].fetch_add(1, std::memory_order_relaxed);
    });
    for (const std::atomic<int>& n : runs) ASSERT_EQ(n, 1);
  }
  pool_.ParallelFor(0, 1e9, false, [](int64_t, int64_t) { ADD_FAILURE(); });
}

TEST_P(ThreadPoolTest, ParallelForPublishesPlainWrites) {
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> squares(100, 0);
    pool_.ParallelFor(100, 5e3, false, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) squares[static_cast<size_t>(i)] = i * i;
    });
    int64_t sum = 0;
    for (const int64_t s : squares) sum += s;
    ASSERT_EQ(sum, 328350);
  }
}

TEST_P(ThreadPoolTest, ParallelForNests) {
  std::atomic<int64_t> sum{0};
  pool_.ParallelFor(8, 1e6, false, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      pool_.ParallelFor(100, 1e5, false, [&](int64_t b, int64_t e) { sum.fetch_add(e - b); });
    }
  });
  EXPECT_EQ(sum, 800);
}

TEST_P(ThreadPoolTest, ManyCallersShareThePool) {
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        pool_.ParallelFor(40, 5e3, false, [&](int64_t b, int64_t e) { sum.fetch_add(e - b); });
        Countdown left(1);
        pool_.Schedule([&] { left.Decrement(); });
        left.Wait();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 6 * 50 * 40);
}

// The borders of all shards of one ParallelFor.
std::set<std::pair<int64_t, int64_t>> Shards(ThreadPool& pool, int64_t total, double unit_ns, bool deterministic) {
  std::mutex mu;
  std::set<std::pair<int64_t, int64_t>> shards;
  pool.ParallelFor(total, unit_ns, deterministic, [&](int64_t begin, int64_t end) {
    const std::lock_guard<std::mutex> lock(mu);
    shards.emplace(begin, end);
  });
  return shards;
}

TEST_P(ThreadPoolTest, DeterministicShardsDoNotDependOnTheSize) {
  ThreadPool other(OfSize(3));
  EXPECT_EQ(Shards(pool_, 1000, 1e3, true), Shards(other, 1000, 1e3, true));
  EXPECT_EQ(Shards(pool_, 1000, 1e3, true).size(), 50u);
}

TEST_P(ThreadPoolTest, NoShardIsShorterThanTwentyMicroseconds) {
  EXPECT_EQ(Shards(pool_, 1000, 10, false).size(), 1u);
  EXPECT_LE(Shards(pool_, 1000, 60, false).size(), 3u);
}

// No thread helps: what is scheduled runs all the same, though its caller waits for it.
TEST_P(ThreadPoolTest, AWaitingCallerGetsItsTasksDone) {
  const std::thread::id caller = std::this_thread::get_id();
  for (int round = 0; round < 20; ++round) {
    std::thread::id ran_on = caller;
    Notification ran;
    pool_.Schedule([&] {
      ran_on = std::this_thread::get_id();
      ran.Notify();
    });
    ran.WaitForNotification();
    EXPECT_NE(ran_on, caller);
  }
}

TEST_P(ThreadPoolTest, WaitingTasksAreSeen) {
  EXPECT_FALSE(pool_.HasWaitingTasks());
  // One task for each thread holds it until the end.
  const int threads = std::max(1, GetParam() - 1);
  Countdown started(threads), ended(threads + 1);
  Notification go_on;
  for (int i = 0; i < threads; ++i) {
    pool_.Schedule([&] {
      started.Decrement();
      go_on.WaitForNotification();
      ended.Decrement();
    });
  }
  started.Wait();
  EXPECT_FALSE(pool_.HasWaitingTasks());
  pool_.Schedule([&] { ended.Decrement(); });
  EXPECT_TRUE(pool_.HasWaitingTasks());
  go_on.Notify();
  ended.Wait();
  EXPECT_FALSE(pool_.HasWaitingTasks());
}

TEST(ThreadPoolStartTest, WithoutAThreadOfTheSystemTasksRunOnTheirCaller) {
  static bool gives_threads = false;
  ThreadPoolOptions options = OfSize(4);
  options.create_thread = [](pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* arg) {
    return gives_threads ? pthread_create(thread, attributes, start, arg) : EAGAIN;
  };
  ThreadPool pool(options);
  std::thread::id ran_on;
  pool.Schedule([&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_EQ(Shards(pool, 1000, 1e3, false).size(), 32u);
  EXPECT_EQ(pool.num_started(), 0);
  gives_threads = true;
  Notification ran;
  pool.Schedule([&] { ran.Notify(); });
  ran.WaitForNotification();
  EXPECT_EQ(pool.num_started(), 3);
}

TEST_P(ThreadPoolTest, TheDestructorRunsWhatIsQueued) {
  std::atomic<int> runs{0};
  {
    ThreadPool pool(OfSize(GetParam()));
    for (int i = 0; i < 100; ++i) pool.Schedule([&] { runs.fetch_add(1); });
  }
  EXPECT_EQ(runs, 100);
}

// The smallest float, halved: zero where denormals are flushed.
float HalfOfSmallest() {
  volatile float smallest = 1.17549435e-38f;
  return smallest * 0.5f;
}

TEST_P(ThreadPoolTest, DenormalsAreFlushedInsideAndLeftAloneOutside) {
  ASSERT_NE(HalfOfSmallest(), 0.0f);
  std::atomic<int> not_flushed{0};
  pool_.ParallelFor(32, 1e5, false, [&](int64_t, int64_t) { not_flushed += HalfOfSmallest() != 0.0f; });
  pool_.ParallelFor(1, 1, false, [&](int64_t, int64_t) { not_flushed += HalfOfSmallest() != 0.0f; });
  Countdown left(1);
  pool_.Schedule([&] {
    not_flushed += HalfOfSmallest() != 0.0f;
    left.Decrement();
  });
  left.Wait();
  EXPECT_EQ(not_flushed, 0);
  EXPECT_NE(HalfOfSmallest(), 0.0f);
}

TEST(FlushDenormalsTest, KeepsTheStateOfAHostThatFlushesItself) {
  const FlushDenormals outer;
  { const FlushDenormals inner; }
  EXPECT_EQ(HalfOfSmallest(), 0.0f);
}

TEST(ThreadPoolSleepTest, WorksWithoutSpinning) {
  ThreadPoolOptions options = OfSize(2);
  options.spin = absl::ZeroDuration();
  ThreadPool pool(options);
  for (int round = 0; round < 100; ++round) {
    Countdown left(2);
    pool.Schedule([&] { left.Decrement(); });
    pool.ParallelFor(4, 1e5, false, [](int64_t, int64_t) {});
    pool.Schedule([&] { left.Decrement(); });
    left.Wait();
  }
}

TEST(ThreadPoolSleepTest, ASleepingPoolIsWoken) {
  ThreadPool pool(OfSize(2));
  for (int round = 0; round < 5; ++round) {
    absl::SleepFor(absl::Milliseconds(2));
    std::atomic<bool> ran{false};
    pool.Schedule([&] { ran.store(true, std::memory_order_release); });
    while (!ran.load(std::memory_order_acquire)) std::this_thread::yield();
  }
}

}  // namespace
}  // namespace sluice

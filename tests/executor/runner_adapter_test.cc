#include "executor/runner_adapter.h"

#include <atomic>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using Closure = absl::AnyInvocable<void()>;

int64_t Cover(RunnerAdapter& adapter, int64_t total) {
  std::atomic<int64_t> sum{0};
  adapter.ParallelFor(total, 1e5, false, [&](int64_t begin, int64_t end) { sum.fetch_add(end - begin); });
  return sum;
}

TEST(RunnerAdapterTest, AHostThatRunsAtOnceDoesTheWork) {
  const Runner runner = [](Closure closure) { closure(); };
  RunnerAdapter adapter(runner, 4);
  EXPECT_EQ(Cover(adapter, 100), 100);
}

TEST(RunnerAdapterTest, AHostThatComesTooLateFindsTheDoorClosed) {
  std::vector<Closure> kept;
  const Runner runner = [&](Closure closure) { kept.push_back(std::move(closure)); };
  RunnerAdapter adapter(runner, 4);
  EXPECT_EQ(Cover(adapter, 100), 100);
  EXPECT_EQ(kept.size(), 3u);
  for (Closure& closure : kept) closure();
}

TEST(RunnerAdapterTest, AHostWithThreadsHelps) {
  ThreadPoolOptions options;
  options.num_threads = 4;
  ThreadPool pool(options);
  const Runner runner = [&](Closure closure) { pool.Schedule(std::move(closure)); };
  RunnerAdapter adapter(runner, pool.num_threads());
  for (int round = 0; round < 50; ++round) ASSERT_EQ(Cover(adapter, 100), 100);
}

TEST(RunnerAdapterTest, TasksGoToTheHost) {
  int runs = 0;
  const Runner runner = [](Closure closure) { closure(); };
  RunnerAdapter adapter(runner, 1);
  adapter.Schedule([&] { ++runs; });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(Cover(adapter, 5), 5);
}

}  // namespace
}  // namespace sluice

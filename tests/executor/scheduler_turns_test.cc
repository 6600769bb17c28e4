// Scheduler with a runner whose tasks run when the test says so: turns, helpers, failures.

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "executor/scheduler.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/scripted_run.h"
#include "tests/testing/manual_task_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

Executor::Args ArgsOf(TaskRunner* runner) {
  Executor::Args args;
  args.task_runner = runner;
  return args;
}

// Two runs that each have more to do than a turn take turns, in steps of the script and not of the clock.
TEST(SchedulerTurnsTest, TwoRunsOnOneThreadTakeTurns) {
  constexpr int64_t kNodeNs = Scheduler::kTurnNs / 8;
  ManualTaskRunner pool(2);
  std::vector<int> order;
  std::vector<std::unique_ptr<ScriptedRun>> runs;
  for (int r = 0; r < 2; ++r) {
    ScriptedRun::Script script;
    script.num_calls = 101;
    script.first = 1;
    script.next = 100;  // Call 0 ends on another thread: from then on the run is the pool's.
    script.cost_ns = 0;
    script.node_ns = kNodeNs;
    script.call = [](int i) { return i != 0; };
    script.on_node = [&order, r](int i) {
      if (i > 0) order.push_back(r);
    };
    runs.push_back(std::make_unique<ScriptedRun>(std::move(script), ArgsOf(&pool)));
    runs.back()->scheduler().Start();
  }
  for (auto& run : runs) run->End(0);
  pool.RunAll();
  for (auto& run : runs) EXPECT_EQ(run->num_ended(), 101);
  ASSERT_EQ(order.size(), 200u);
  int longest = 0, now = 0;
  for (size_t i = 0; i < 100; ++i) {  // As long as both have something to do.
    now = i > 0 && order[i] == order[i - 1] ? now + 1 : 1;
    longest = std::max(longest, now);
  }
  EXPECT_EQ(longest, 8);
}

TEST(SchedulerTurnsTest, ARunThatIsAloneKeepsItsThread) {
  ManualTaskRunner pool(2);
  ScriptedRun::Script script;
  script.num_calls = 101;
  script.next = 100;
  script.cost_ns = 0;
  script.node_ns = Scheduler::kTurnNs;
  script.call = [](int i) { return i != 0; };
  ScriptedRun run(std::move(script), ArgsOf(&pool));
  run.scheduler().Start();
  run.End(0);
  EXPECT_EQ(pool.num_scheduled(), 1);
  pool.RunAll();
  EXPECT_EQ(run.num_ended(), 101);
  EXPECT_EQ(pool.num_scheduled(), 1);
}

// A helper takes calls of one turn, then the other task has its thread.
TEST(SchedulerTurnsTest, AHelpersTurnIsCountedInCosts) {
  constexpr int kCalls = 100, kCallNs = 20'000;
  ManualTaskRunner pool(2);
  int num_called = 0, before_other = -1;
  ScriptedRun::Script script;
  script.num_calls = kCalls;
  script.first = kCalls;
  script.cost_ns = kCallNs;
  script.call = [&](int i) {
    if (i > 0) {
      ++num_called;
      return true;
    }
    // The thread that began the run is in its first call, which lasts; meanwhile another thread serves the pool.
    pool.Schedule([&] { before_other = num_called; });
    std::thread other([&] {
      while (before_other < 0 && pool.RunOne()) {
      }
    });
    other.join();
    return true;
  };
  ScriptedRun run(std::move(script), ArgsOf(&pool));
  run.scheduler().Start();
  EXPECT_EQ(before_other, Scheduler::kTurnNs / kCallNs);
  pool.RunAll();
  EXPECT_EQ(run.num_ended(), kCalls);
}

TEST(SchedulerFailuresTest, WhereHelpersCannotBeHadTheHolderDoesTheWork) {
  ManualTaskRunner pool(4);
  pool.set_throws(true);
  ScriptedRun::Script script;
  script.num_calls = 50;
  script.first = 50;
  script.cost_ns = 100'000;
  absl::Status outcome = absl::UnknownError("not over");
  script.done = [&](absl::Status status) { outcome = std::move(status); };
  ScriptedRun run(std::move(script), ArgsOf(&pool));
  run.scheduler().Start();
  EXPECT_OK(outcome);
  EXPECT_EQ(run.num_ended(), 50);
}

TEST(SchedulerFailuresTest, HelpersThatWereDroppedCanBeHadAgain) {
  ManualTaskRunner pool(2);
  ScriptedRun::Script script;
  script.num_calls = 20;
  script.first = 10;
  script.next = 10;
  script.cost_ns = 100'000;
  script.call = [](int i) { return i != 0; };
  ScriptedRun run(std::move(script), ArgsOf(&pool));
  run.scheduler().Start();
  ASSERT_EQ(pool.num_waiting(), 1u);
  pool.DropOne();
  run.End(0);
  pool.RunAll();
  EXPECT_GE(pool.num_scheduled(), 2);
  EXPECT_EQ(run.num_ended(), 20);
}

TEST(SchedulerFailuresTest, ABatonThatCannotBeHandedOverStaysAndEndsTheRun) {
  ManualTaskRunner pool(2);
  ScriptedRun::Script script;
  script.num_calls = 10;
  script.call = [](int i) { return i != 0; };
  absl::Status outcome;
  script.done = [&](absl::Status status) { outcome = std::move(status); };
  ScriptedRun run(std::move(script), ArgsOf(&pool));
  run.scheduler().Start();
  pool.set_throws(true);
  run.End(0);
  EXPECT_THAT(outcome, IsError(ErrorCode::kOutOfMemory));
  EXPECT_EQ(run.num_ended(), 1);
}

TEST(SchedulerFailuresTest, ARunnerThatThrowsEndsTheRunUnlessItHasTheWork) {
  for (const bool runs_first : {false, true}) {
    for (const bool waits : {false, true}) {
      const Runner runner = [&](absl::AnyInvocable<void()> work) {
        if (runs_first) work();
        throw std::runtime_error("full");
      };
      Executor::Args args;
      args.runner = &runner;
      ScriptedRun::Script script;
      script.num_calls = 5;
      absl::Status outcome = absl::UnknownError("not over");
      script.done = [&](absl::Status status) { outcome = std::move(status); };
      ScriptedRun run(std::move(script), args);
      waits ? run.scheduler().RunToEnd() : run.scheduler().Start();
      if (runs_first) {
        EXPECT_OK(outcome);
        EXPECT_EQ(run.num_ended(), 5);
      } else {
        EXPECT_THAT(outcome, IsError(ErrorCode::kKernelException, "full"));
        EXPECT_EQ(run.num_ended(), 0);
      }
    }
  }
}

}  // namespace
}  // namespace sluice

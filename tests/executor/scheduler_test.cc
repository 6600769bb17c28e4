#include "executor/scheduler.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "executor/executor.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "gtest/gtest.h"
#include "tests/executor/scripted_run.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Threads that a run may have. Each owns what Args borrow.
struct Host {
  explicit Host(int threads, bool has_runner, bool is_inline) {
    if (threads > 0) pool = std::make_unique<ThreadPool>(ThreadPoolOptions{threads});
    if (!has_runner) return;
    runner = is_inline ? Runner([](absl::AnyInvocable<void()> work) { work(); })
                       : Runner([this](absl::AnyInvocable<void()> work) { pool->Schedule(std::move(work)); });
  }
  Executor::Args args() {
    Executor::Args args;
    args.task_runner = pool.get();
    if (runner) args.runner = &runner;
    return args;
  }
  std::unique_ptr<ThreadPool> pool;
  Runner runner;
};

struct HostCase {
  int threads;
  bool has_runner, is_inline;
};

class SchedulerTest : public testing::TestWithParam<HostCase> {
 protected:
  // Runs the script to its end, by Start or by RunToEnd.
  absl::Status Run(ScriptedRun::Script script, bool waits, Executor::Args args) {
    Notification over;
    absl::Status outcome;
    script.done = [&](absl::Status status) {
      outcome = std::move(status);
      over.Notify();
    };
    ScriptedRun run(std::move(script), args);
    waits ? run.scheduler().RunToEnd() : run.scheduler().Start();
    EXPECT_TRUE(!waits || over.HasBeenNotified());
    EXPECT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(1))) << "the run hangs";
    num_ended_ = run.num_ended();
    host_.pool.reset();  // No helper is left that could touch the run.
    if (GetParam().threads > 0) host_.pool = std::make_unique<ThreadPool>(ThreadPoolOptions{GetParam().threads});
    return outcome;
  }
  absl::Status Run(ScriptedRun::Script script, bool waits) { return Run(std::move(script), waits, host_.args()); }

  Host host_{GetParam().threads, GetParam().has_runner, GetParam().is_inline};
  int num_ended_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Hosts, SchedulerTest,
                         testing::Values(HostCase{0, false, false}, HostCase{1, false, false},
                                         HostCase{2, false, false}, HostCase{8, false, false}, HostCase{0, true, true},
                                         HostCase{4, true, true}, HostCase{1, true, false}, HostCase{4, true, false}));

TEST_P(SchedulerTest, EveryCallRunsOnceAndThenTheRunIsOver) {
  for (const bool waits : {false, true}) {
    for (const uint32_t cost_ns : {0u, 10'000u, 300'000u}) {
      std::vector<std::atomic<int>> runs(500);
      ScriptedRun::Script script;
      script.num_calls = 500;
      script.first = 40;
      script.cost_ns = cost_ns;
      script.call = [&](int i) {
        runs[static_cast<size_t>(i)].fetch_add(1);
        return true;
      };
      EXPECT_OK(Run(script, waits));
      EXPECT_EQ(num_ended_, 500);
      for (const std::atomic<int>& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST_P(SchedulerTest, ARunWithoutCallsIsOverAtOnce) {
  ScriptedRun::Script script;
  script.num_calls = 0;
  script.first = 0;
  for (const bool waits : {false, true}) EXPECT_OK(Run(script, waits));
}

TEST_P(SchedulerTest, CallsEndOnOtherThreads) {
  for (const bool waits : {false, true}) {
    ScriptedRun* self = nullptr;
    std::vector<std::thread> threads;
    Mutex mu;
    Notification over;
    ScriptedRun::Script script;
    script.num_calls = 60;
    script.first = 3;
    script.call = [&](int i) {
      if (i % 3 == 0) return true;
      MutexLock lock(&mu);
      threads.emplace_back([&, i] { self->End(i); });
      return false;
    };
    script.done = [&](const absl::Status& status) {
      EXPECT_OK(status);
      over.Notify();
    };
    ScriptedRun run(script, host_.args());
    self = &run;
    waits ? run.scheduler().RunToEnd() : run.scheduler().Start();
    ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(1)));
    host_.pool.reset();
    {
      MutexLock lock(&mu);  // The thread that has made the last one may be at it still.
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(run.num_ended(), 60);
    if (GetParam().threads > 0) host_.pool = std::make_unique<ThreadPool>(ThreadPoolOptions{GetParam().threads});
  }
}

TEST_P(SchedulerTest, CallsEndInsideOfThemselves) {
  for (const bool waits : {false, true}) {
    ScriptedRun* self = nullptr;
    Notification over;
    ScriptedRun::Script script;
    script.num_calls = 100;
    script.first = 2;
    script.call = [&](int i) {
      self->End(i);
      return false;
    };
    script.done = [&](const absl::Status&) { over.Notify(); };
    ScriptedRun run(script, host_.args());
    self = &run;
    waits ? run.scheduler().RunToEnd() : run.scheduler().Start();
    ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(1)));
    EXPECT_EQ(run.num_ended(), 100);
    host_.pool.reset();
    if (GetParam().threads > 0) host_.pool = std::make_unique<ThreadPool>(ThreadPoolOptions{GetParam().threads});
  }
}

TEST_P(SchedulerTest, TheFirstErrorStopsWhatHasNotBegunAndIsTheOutcome) {
  for (const bool waits : {false, true}) {
    ScriptedRun::Script script;
    script.num_calls = 1000;
    ScriptedRun* self = nullptr;
    Notification over;
    absl::Status outcome;
    script.call = [&](int i) {
      if (i == 10) self->scheduler().status().Record(absl::InternalError("first"));
      if (i == 10) self->scheduler().status().Record(absl::DataLossError("second"));
      return true;
    };
    script.done = [&](absl::Status status) {
      outcome = std::move(status);
      over.Notify();
    };
    ScriptedRun run(script, host_.args());
    self = &run;
    waits ? run.scheduler().RunToEnd() : run.scheduler().Start();
    ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(1)));
    EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kInternal, "first"));
    EXPECT_EQ(run.num_ended(), 11);
    host_.pool.reset();
    if (GetParam().threads > 0) host_.pool = std::make_unique<ThreadPool>(ThreadPoolOptions{GetParam().threads});
  }
}

// In each state: before the start, while a call runs, while nothing but a call on another thread is under way.
TEST_P(SchedulerTest, ACancellationEndsTheRunInEveryState) {
  for (const int at : {-1, 0, 5}) {
    for (const bool waits : {false, true}) {
      CancellationManager cancellation;
      Executor::Args args = host_.args();
      args.cancellation = &cancellation;
      ScriptedRun::Script script;
      script.num_calls = 1000;
      script.call = [&](int i) {
        if (i == at) cancellation.StartCancelWithStatus(absl::AbortedError("enough"));
        return true;
      };
      if (at < 0) cancellation.StartCancelWithStatus(absl::AbortedError("enough"));
      EXPECT_THAT(Run(script, waits, args), StatusIs(absl::StatusCode::kAborted, "enough"));
      EXPECT_EQ(num_ended_, at + 1);
    }
  }
}

TEST_P(SchedulerTest, ACancellationEndsARunThatWaits) {
  for (const bool waits : {false, true}) {
    CancellationManager cancellation;
    Executor::Args args = host_.args();
    args.cancellation = &cancellation;
    ScriptedRun* self = nullptr;
    Notification over, has_begun;
    ScriptedRun::Script script;
    script.call = [&](int i) {
      EXPECT_TRUE(cancellation.RegisterCallback(cancellation.NewToken(), [self, i] { self->End(i); }));
      has_begun.Notify();
      return false;
    };
    absl::Status outcome;
    script.done = [&](absl::Status status) {
      outcome = std::move(status);
      over.Notify();
    };
    ScriptedRun run(script, args);
    self = &run;
    std::thread canceller([&] {
      has_begun.WaitForNotification();
      cancellation.StartCancel();
    });
    waits ? run.scheduler().RunToEnd() : run.scheduler().Start();
    ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(1)));
    canceller.join();
    EXPECT_EQ(run.num_ended(), 1);
    host_.pool.reset();
    if (GetParam().threads > 0) host_.pool = std::make_unique<ThreadPool>(ThreadPoolOptions{GetParam().threads});
  }
}

TEST_P(SchedulerTest, TheDeadlineEndsARunThatWaits) {
  for (const bool waits : {false, true}) {
    CancellationManager cancellation;
    Executor::Args args = host_.args();
    args.cancellation = &cancellation;
    args.deadline = absl::Now() + absl::Milliseconds(20);
    ScriptedRun* self = nullptr;
    ScriptedRun::Script script;
    script.call = [&](int i) {
      if (!cancellation.RegisterCallback(cancellation.NewToken(), [self, i] { self->End(i); })) self->End(i);
      return false;
    };
    Notification over;
    absl::Status outcome;
    script.done = [&](absl::Status status) {
      outcome = std::move(status);
      over.Notify();
    };
    ScriptedRun run(script, args);
    self = &run;
    waits ? run.scheduler().RunToEnd() : run.scheduler().Start();
    ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(1)));
    EXPECT_THAT(outcome, IsError(ErrorCode::kDeadline));
    host_.pool.reset();
    if (GetParam().threads > 0) host_.pool = std::make_unique<ThreadPool>(ThreadPoolOptions{GetParam().threads});
  }
}

// Each run begins the next one in its `done`.
TEST_P(SchedulerTest, AChainOfRunsDoesNotGrowTheStack) {
  constexpr int kRuns = 20'000;
  std::vector<std::unique_ptr<ScriptedRun>> runs;
  runs.reserve(kRuns);
  Notification over;
  const char* highest = nullptr;
  int64_t deepest = 0;
  std::function<void()> begin = [&] {
    const char* const here = static_cast<const char*>(__builtin_frame_address(0));
    if (runs.empty()) highest = here;
    // On each thread: the stack of another is some megabytes away.
    const int64_t depth = highest - here;
    if (std::abs(depth) < (4 << 20)) deepest = std::max(deepest, depth);
    ScriptedRun::Script script;
    script.cost_ns = 0;
    script.done = [&](const absl::Status&) { runs.size() < kRuns ? begin() : over.Notify(); };
    runs.push_back(std::make_unique<ScriptedRun>(std::move(script), host_.args()));
    runs.back()->scheduler().Start();
  };
  begin();
  ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(2)));
  EXPECT_LT(deepest, 512 << 10);
  host_.pool.reset();
}

// A run that becomes ready inside another run's call continues after that call, or on another thread.
TEST_P(SchedulerTest, ACallThatEndsAnothersCallDoesNotRunItsDone) {
  for (const bool waits : {false, true}) {
    Notification waiter_over, over;
    ScriptedRun::Script waiting;
    waiting.call = [](int) { return false; };
    waiting.done = [&](const absl::Status&) { waiter_over.Notify(); };  // ScriptedRun::Finish looks at the stack.
    ScriptedRun waiter(waiting, host_.args());
    std::thread begins([&] { waiter.scheduler().Start(); });
    begins.join();
    ScriptedRun::Script script;
    Notification began;
    script.call = [&](int) {
      waiter.End(0);
      return true;
    };
    script.done = [&](const absl::Status&) { over.Notify(); };
    ScriptedRun run(script, host_.args());
    // Where others run it, the waiting call may not have begun: its end comes after that in any case.
    while (host_.pool != nullptr && host_.pool->HasWaitingTasks()) std::this_thread::yield();
    waits ? run.scheduler().RunToEnd() : run.scheduler().Start();
    ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(1)));
    ASSERT_TRUE(waiter_over.WaitForNotificationWithTimeout(absl::Minutes(1)));
    host_.pool.reset();
    if (GetParam().threads > 0) host_.pool = std::make_unique<ThreadPool>(ThreadPoolOptions{GetParam().threads});
  }
}

}  // namespace
}  // namespace sluice

#include "executor/scheduler.h"

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "executor/executor.h"
#include "executor/thread_pool.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "gtest/gtest.h"
#include "kernels/run_context.h"
#include "tests/testing/manual_task_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Whether this thread is in a call of any run.
thread_local int calls_on_stack = 0;

// A run by script: a number of calls are ready, and each that ends makes others ready. Owns itself until Finish.
class ScriptedRun final : public Scheduler::Client {
 public:
  struct Script {
    int num_calls = 1;  // In all.
    int first = 1;      // Ready at the start; each call that ends makes `next` more ready.
    int next = 1;
    uint32_t cost_ns = 10'000;  // Of each call.
    int64_t node_ns = 0;        // Work with the baton for each call that is made ready.
    // What call `i` does. False: it will be ended by End(i).
    std::function<bool(int i)> call = [](int) { return true; };
    std::function<void(absl::Status)> done = [](absl::Status) {};
    std::function<void(int i)> on_node = [](int) {};  // With the baton.
  };

  ScriptedRun(Script script, const Executor::Args& args)
      : script_(std::move(script)), scheduler_(MakeCounted<Scheduler>(this, args)), ready_(script_.first) {
    for (int i = 0; i < script_.num_calls; ++i) calls_.push_back(std::make_unique<NodeCall>(run_, 0));
  }

  Scheduler& scheduler() { return *scheduler_; }
  int num_ended() const { return num_ended_; }
  // Ends a call that has been begun, on any thread.
  void End(int i) { scheduler_->CallEnded(calls_[static_cast<size_t>(i)].get()); }

  Scheduler::Progress RunWithBaton() noexcept override {
    if (holders_.fetch_add(1) > 0) ADD_FAILURE() << "two threads hold the baton";
    const Scheduler::Progress progress = DoRunWithBaton();
    return progress;
  }
  bool RunCall(NodeCall& call) noexcept override {
    if (++calls_on_stack > 1) ADD_FAILURE() << "a call runs inside of a call";
    const bool has_ended = script_.call(IndexOf(call));
    --calls_on_stack;
    return has_ended;
  }
  void Finish() noexcept override {
    EXPECT_EQ(calls_on_stack, 0) << "`done` is called inside of a call";
    EXPECT_FALSE(is_finished_.exchange(true));
    const absl::Status status = scheduler_->status().status();
    auto done = std::move(script_.done);
    done(status);
  }

 private:
  int IndexOf(const NodeCall& call) const {
    int i = 0;
    while (calls_[static_cast<size_t>(i)].get() != &call) ++i;
    return i;
  }
  Scheduler::Progress DoRunWithBaton() {
    for (;;) {
      for (NodeCall* call = scheduler_->inbox().Drain(); call != nullptr;) {
        NodeCall* const next = call->next;
        ++num_ended_;
        --num_under_way_;
        ready_ += script_.next;
        call = next;
      }
      while (ready_ > 0) {
        --ready_;
        if (num_begun_ == script_.num_calls || scheduler_->status().MustStop()) continue;
        NodeCall& call = *calls_[static_cast<size_t>(num_begun_)];
        script_.on_node(num_begun_++);
        call.cost_ns = script_.cost_ns;
        ++num_under_way_;
        scheduler_->Queue(&call);
        scheduler_->SpendTurn(script_.node_ns);
        if (scheduler_->IsTurnOver()) {
          holders_.fetch_sub(1);
          return Scheduler::Progress::kTurnOver;
        }
      }
      if (!scheduler_->inbox().empty()) continue;
      if (num_under_way_ == 0) return Scheduler::Progress::kOver;
      scheduler_->WakeHelpers(false);
      holders_.fetch_sub(1);
      if (scheduler_->inbox().Release()) return Scheduler::Progress::kWaiting;
      holders_.fetch_add(1);
    }
  }

  Script script_;
  const RunContext run_;
  std::vector<std::unique_ptr<NodeCall>> calls_;
  const CountedPtr<Scheduler> scheduler_;
  std::atomic<int> holders_{0};
  std::atomic<bool> is_finished_{false};
  // The baton holder's.
  int ready_, num_begun_ = 0, num_under_way_ = 0, num_ended_ = 0;
};

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
      args.cancellation_manager = &cancellation;
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
    args.cancellation_manager = &cancellation;
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
    args.cancellation_manager = &cancellation;
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
  const char* lowest = nullptr;
  const char* highest = nullptr;
  std::function<void()> begin = [&] {
    const char here = 0;
    if (runs.empty()) lowest = highest = &here;
    // Per thread: a stack is some megabytes away from another.
    const auto distance = std::abs(&here - highest);
    if (distance < (4 << 20)) lowest = std::min(lowest, &here);
    ScriptedRun::Script script;
    script.cost_ns = 0;
    script.done = [&](const absl::Status&) { runs.size() < kRuns ? begin() : over.Notify(); };
    runs.push_back(std::make_unique<ScriptedRun>(std::move(script), host_.args()));
    runs.back()->scheduler().Start();
  };
  begin();
  ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(2)));
  EXPECT_LT(highest - lowest, 256 << 10);
  host_.pool.reset();
}

// A run that is set free inside of another's call goes on when that call has returned, or elsewhere.
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

// ---- By hand: a runner whose tasks run when the test says so. ----

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

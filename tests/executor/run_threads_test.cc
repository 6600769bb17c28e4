// Guarantees for hosts (Note [Threads of a run] in executor.h): where `done` is called, what it may do, which threads
// wait.

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "executor/runner_adapter.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/strong_id.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);

// Kernels of any run on this thread's stack.
thread_local int kernels_on_stack = 0;

// The end of a run.
struct Outcome {
  Executor::Done Done() {
    return [this](absl::Status s) {
      EXPECT_EQ(kernels_on_stack, 0) << "`done` is called inside of a kernel";
      status = std::move(s);
      over.Notify();
    };
  }
  // Fails the test instead of hanging.
  absl::Status Wait() {
    if (!over.WaitForNotificationWithTimeout(kLong)) return absl::UnknownError("the run hangs");
    return status;
  }
  Notification over;
  absl::Status status;
};

class RunThreadsTest : public testing::Test {
 protected:
  // Neg calls `function` and hands its input on.
  void Replace(const char* op, std::function<void(KernelContext&)> function, CostHint hint = CostHint::kHeavy) {
    const auto kernel = [function = std::move(function)](KernelContext& context) {
      ++kernels_on_stack;
      function(context);
      --kernels_on_stack;
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    };
    ASSERT_OK(harness_.registry().Add(OwnedKernelRow(op, MakeFunction(kernel, hint))));
  }
  Output One() { return b_.Op("Identity", "", {b_.Const("", Tensor::Scalar(1.0f))}); }
  Output Recv(const std::string& name) {
    GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs(name);
    attrs.emplace_back("tensor_type", DType::kFloat);
    return b_.Op("_Recv", "recv_" + name, {}, attrs);
  }
  std::unique_ptr<Executor> Make() {
    absl::StatusOr<Graph> graph = b_.Build();
    EXPECT_OK(graph);
    b_ = GraphBuilder(NewOpRegistry());
    LocalExecutorParams params;
    params.device = &harness_.device();
    params.registry = &harness_.registry();
    params.edges = &harness_.edges();
    params.driver = Driver::kDataflow;
    absl::StatusOr<std::unique_ptr<Executor>> made = NewLocalExecutor(params, *std::move(graph));
    EXPECT_OK(made);
    return *std::move(made);
  }

  GraphBuilder b_{NewOpRegistry()};
  ExecutorHarness harness_;
};

// ---- done ----

TEST_F(RunThreadsTest, ADoneThatThrowsIsLogged) {
  const LogCapture log;
  One();
  const std::unique_ptr<Executor> executor = Make();
  executor->RunAsync({}, [](const absl::Status&) { throw std::runtime_error("bad host"); });
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_NE(log.lines()[0].find("bad host"), std::string::npos);
  EXPECT_OK(executor->Run({}));
}

// Inside of the StartCancel that ends the run's last wait.
TEST_F(RunThreadsTest, DoneMayFreeWhatTheRunWasGiven) {
  Recv("never");
  Recv("again");
  const std::unique_ptr<Executor> executor = Make();
  for (const bool has_parent : {false, true}) {
    CancellationManager session;
    auto cancellation =
        has_parent ? std::make_unique<CancellationManager>(&session) : std::make_unique<CancellationManager>();
    CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>(harness_.edges());
    Executor::Args args;
    args.rendezvous = rendezvous.get();
    args.cancellation = cancellation.get();
    absl::Status outcome;
    executor->RunAsync(args, [&](absl::Status status) {
      outcome = std::move(status);
      cancellation.reset();
      rendezvous = CountedPtr<LocalRendezvous>();
    });
    (has_parent ? session : *cancellation).StartCancel();
    EXPECT_EQ(cancellation, nullptr);
    EXPECT_THAT(outcome, IsError(ErrorCode::kRunCancelled));
  }
}

TEST_F(RunThreadsTest, AnAbortOfTheHostsMayEndTheRunThatFreesTheRendezvous) {
  Recv("never");
  Recv("again");
  const std::unique_ptr<Executor> executor = Make();
  CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>(harness_.edges());
  Executor::Args args;
  args.rendezvous = rendezvous.get();
  absl::Status outcome;
  executor->RunAsync(args, [&](absl::Status status) {
    outcome = std::move(status);
    rendezvous = CountedPtr<LocalRendezvous>();
  });
  rendezvous.get()->StartAbort(absl::AbortedError("enough"));
  EXPECT_FALSE(rendezvous);
  EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kAborted, "enough"));
}

TEST_F(RunThreadsTest, ARunThatAKernelBeginsMayBeWaitedForThere) {
  One();
  const std::unique_ptr<Executor> inner = Make();
  std::atomic<int> inner_runs{0};
  Replace("Neg", [&](KernelContext&) {
    EXPECT_OK(inner->Run({}));
    Notification over;
    inner->RunAsync({}, [&](const absl::Status& status) {
      EXPECT_OK(status);
      over.Notify();
    });
    EXPECT_TRUE(over.WaitForNotificationWithTimeout(kLong));
    ++inner_runs;
  });
  b_.Op("Neg", "", {One()});
  const std::unique_ptr<Executor> outer = Make();
  EXPECT_OK(outer->Run({}));
  EXPECT_EQ(inner_runs, 1);
}

// A kernel sets a run free and waits, by Run, for another one that needs what the first one sends.
TEST_F(RunThreadsTest, AWaitInsideOfAKernelDoesNotHoldUpWhatItWaitsFor) {
  b_.Op("_Send", "send", {Recv("a")}, ExecutorHarness::TransferAttrs("b"));
  const std::unique_ptr<Executor> between = Make();
  Recv("b");
  const std::unique_ptr<Executor> waits = Make();
  absl::Status waited = absl::UnknownError("");
  Replace("Neg", [&](KernelContext&) {
    EXPECT_OK(harness_.Send("a", Tensor::Scalar(1.0f)));
    waited = waits->Run(harness_.args());
  });
  b_.Op("Neg", "", {One()});
  const std::unique_ptr<Executor> outer = Make();
  Outcome of_between, of_outer;
  between->RunAsync(harness_.args(), of_between.Done());
  std::thread host([&] { outer->RunAsync({}, of_outer.Done()); });
  EXPECT_OK(of_outer.Wait());
  EXPECT_OK(of_between.Wait());
  EXPECT_OK(waited);
  host.join();
}

// ---- Deadlines ----

// The `done` of a run that was late waits until the next run was late, too.
TEST_F(RunThreadsTest, DeadlinesAreKeptWhileADoneWaits) {
  Recv("never");
  const std::unique_ptr<Executor> executor = Make();
  constexpr int kRuns = 5;
  std::vector<std::unique_ptr<Outcome>> outcomes;
  std::vector<CountedPtr<LocalRendezvous>> rendezvous;
  for (int i = 0; i <= kRuns; ++i) outcomes.push_back(std::make_unique<Outcome>());
  outcomes[kRuns]->over.Notify();
  for (int i = 0; i < kRuns; ++i) {
    rendezvous.push_back(MakeCounted<LocalRendezvous>(harness_.edges()));
    Executor::Args args;
    args.rendezvous = rendezvous.back().get();
    args.deadline = absl::Now() + absl::Milliseconds(5 + 5 * i);
    Outcome& mine = *outcomes[static_cast<size_t>(i)];
    Outcome& next = *outcomes[static_cast<size_t>(i) + 1];
    executor->RunAsync(args, [&](absl::Status status) {
      EXPECT_TRUE(next.over.WaitForNotificationWithTimeout(kLong)) << "no deadline comes any more";
      mine.Done()(std::move(status));
    });
  }
  for (int i = 0; i < kRuns; ++i) {
    EXPECT_THAT(outcomes[static_cast<size_t>(i)]->Wait(), IsError(ErrorCode::kDeadline));
  }
}

// In the `done` of a late run, another one runs to its own deadline, polling.
TEST_F(RunThreadsTest, ARunThatALateRunsDoneBeginsHasItsDeadline) {
  Recv("never");
  const std::unique_ptr<Executor> late = Make();
  Replace("Neg", [](KernelContext& context) {
    const absl::Time give_up = absl::Now() + kLong;
    while (!context.IsCancelled() && absl::Now() < give_up) {
    }
    EXPECT_TRUE(context.IsCancelled());
  });
  b_.Op("Neg", "", {One()});
  const std::unique_ptr<Executor> polls = Make();
  CancellationManager cancellation;
  Outcome of_late, of_polls;
  Executor::Args args = harness_.args();
  args.deadline = absl::Now() + absl::Milliseconds(5);
  late->RunAsync(args, [&](absl::Status status) {
    of_late.Done()(std::move(status));
    Executor::Args next;
    next.deadline = absl::Now() + absl::Milliseconds(20);
    next.cancellation = &cancellation;
    polls->RunAsync(next, of_polls.Done());
  });
  EXPECT_THAT(of_late.Wait(), IsError(ErrorCode::kDeadline));
  EXPECT_THAT(of_polls.Wait(), IsError(ErrorCode::kDeadline));
}

TEST_F(RunThreadsTest, ADeadlineThatPassesInTheLastKernelCounts) {
  absl::Time deadline = absl::InfiniteFuture();
  Replace("Neg", [&](KernelContext&) {
    while (deadline != absl::InfiniteFuture() && absl::Now() <= deadline) {
    }
  });
  b_.Op("Neg", "", {One()});
  const std::unique_ptr<Executor> executor = Make();
  ThreadPool pool(ThreadPoolOptions{2});
  for (TaskRunner* const threads : {static_cast<TaskRunner*>(nullptr), static_cast<TaskRunner*>(&pool)}) {
    Executor::Args args;
    args.task_runner = threads;
    args.deadline = deadline = absl::Now() + absl::Milliseconds(5);
    EXPECT_THAT(executor->Run(args), IsError(ErrorCode::kDeadline));
    args.deadline = deadline = absl::Now() + absl::Milliseconds(5);
    Outcome outcome;
    executor->RunAsync(args, outcome.Done());
    EXPECT_THAT(outcome.Wait(), IsError(ErrorCode::kDeadline));
    args.deadline = deadline = absl::InfiniteFuture();
    EXPECT_OK(executor->Run(args));
  }
}

// ---- Threads ----

// Run's caller waits for its own run: another that it has set free, and that has threads, does not hold it up. The
// other parts of its step may stay on this thread.
TEST_F(RunThreadsTest, ARunReturnsThoughWhatItHasSetFreeBlocks) {
  Notification returned;
  bool blocks = true;
  std::thread::id ran_on;
  Replace("Neg", [&](KernelContext&) {
    ran_on = std::this_thread::get_id();
    EXPECT_TRUE(!blocks || returned.WaitForNotificationWithTimeout(kLong)) << "Run waits for what it has set free";
  });
  b_.Op("Neg", "", {Recv("a")});
  const std::unique_ptr<Executor> other = Make();
  b_.Op("_Send", "send", {One()}, ExecutorHarness::TransferAttrs("a"));
  const std::unique_ptr<Executor> own = Make();
  ThreadPool pool(ThreadPoolOptions{2});
  for (const bool is_part : {false, true}) {
    Outcome outcome;
    Executor::Args args = harness_.args();
    args.task_runner = &pool;
    other->RunAsync(args, outcome.Done());
    args.step_id = StepId(args.step_id.value() + (is_part ? 0 : 1));
    blocks = !is_part;
    EXPECT_OK(own->Run(args));
    if (!is_part) returned.Notify();
    EXPECT_OK(outcome.Wait());
    EXPECT_EQ(ran_on == std::this_thread::get_id(), is_part);
    harness_.NewRendezvous();
  }
}

// Two kernels; each ends when the other has begun.
class MeetingTest : public RunThreadsTest {
 protected:
  std::unique_ptr<Executor> MakeMeeting() {
    Replace("Neg", [this](KernelContext&) {
      if (inside_.fetch_add(1) + 1 == 2) both_.Notify();
      EXPECT_TRUE(both_.WaitForNotificationWithTimeout(kLong)) << "the nodes run one after the other";
    });
    const Output x = One();
    for (int i = 0; i < 2; ++i) b_.Op("Neg", "", {x});
    return Make();
  }
  std::atomic<int> inside_{0};
  Notification both_;
};

TEST_F(MeetingTest, AHostThatNamesARunnerOnlyGetsNodesAtTheSameTime) {
  ThreadPool pool(ThreadPoolOptions{4});
  const Runner runner = [&](absl::AnyInvocable<void()> work) { pool.Schedule(std::move(work)); };
  RunnerAdapter adapter(runner, 2);
  Executor::Args args;
  args.runner = &runner;
  if (std::thread::hardware_concurrency() < 2) args.task_runner = &adapter;  // As many as processors are too few.
  EXPECT_OK(MakeMeeting()->Run(args));
}

TEST_F(MeetingTest, APoolOfTwoRunsTwoNodesAtTheSameTime) {
  ThreadPool pool(ThreadPoolOptions{2});
  Executor::Args args;
  args.task_runner = &pool;
  EXPECT_OK(MakeMeeting()->Run(args));
}

TEST_F(RunThreadsTest, KernelsOfARunnerOnlyHostShareTheirWork) {
  std::vector<absl::AnyInvocable<void()>> kept;
  const Runner runner = [&](absl::AnyInvocable<void()> work) {
    kernels_on_stack > 0 ? kept.push_back(std::move(work)) : work();
  };
  Replace("Neg", [](KernelContext& context) {
    ASSERT_NE(context.run().task_runner, nullptr);
    std::atomic<int64_t> sum{0};
    context.run().task_runner->ParallelFor(1000, 1e6, false, [&](int64_t b, int64_t e) { sum += e - b; });
    EXPECT_EQ(sum, 1000);
  });
  b_.Op("Neg", "", {One()});
  const std::unique_ptr<Executor> executor = Make();
  Executor::Args args;
  args.runner = &runner;
  EXPECT_OK(executor->Run(args));
  EXPECT_EQ(kept.empty(), std::thread::hardware_concurrency() < 2);
  for (absl::AnyInvocable<void()>& work : kept) work();
}

TEST_F(RunThreadsTest, InlineRunsUseOneThreadInsideOfKernelsToo) {
  TaskRunner* given = nullptr;
  Replace("Neg", [&](KernelContext& context) { given = context.run().task_runner; });
  b_.Op("Neg", "", {One()});
  const std::unique_ptr<Executor> executor = Make();
  ThreadPool pool(ThreadPoolOptions{2});
  Executor::Args args;
  args.task_runner = &pool;
  EXPECT_OK(executor->Run(args));
  EXPECT_EQ(given, &pool);
  args.run_all_kernels_inline = true;
  EXPECT_OK(executor->Run(args));
  EXPECT_EQ(given, nullptr);
}

// Closures that a host keeps beyond the end touch nothing that the run was given.
TEST_F(RunThreadsTest, ClosuresThatComeTooLateDoNothing) {
  std::vector<absl::AnyInvocable<void()>> kept;
  Replace("Neg", [](KernelContext&) {});
  const Output x = One();
  for (int i = 0; i < 100; ++i) b_.Op("Neg", "", {x});
  const std::unique_ptr<Executor> executor = Make();
  {
    auto runner = std::make_unique<const Runner>([&](absl::AnyInvocable<void()> work) {
      static int count = 0;
      ++count == 1 ? work() : kept.push_back(std::move(work));
    });
    Executor::Args args;
    args.runner = runner.get();
    EXPECT_OK(executor->Run(args));
  }
  for (absl::AnyInvocable<void()>& work : kept) work();
}

// A kind of executor that has RunAsync alone.
class Forwarding final : public Executor {
 public:
  explicit Forwarding(const Executor& executor) : executor_(executor) {}
  void RunAsync(const Args& args, Done done) const override { executor_.RunAsync(args, std::move(done)); }

 private:
  const Executor& executor_;
};

TEST_F(RunThreadsTest, RunWaitsForRunAsyncByDefault) {
  Recv("x");
  const std::unique_ptr<Executor> executor = Make();
  const Forwarding forwarding(*executor);
  std::thread sender([&] { EXPECT_OK(harness_.Send("x", Tensor::Scalar(1.0f))); });
  EXPECT_OK(forwarding.Run(harness_.args()));
  sender.join();
  harness_.NewRendezvous();
  harness_.rendezvous().StartAbort(absl::AbortedError("enough"));
  EXPECT_THAT(forwarding.Run(harness_.args()), StatusIs(absl::StatusCode::kAborted, "enough"));
}

}  // namespace
}  // namespace sluice

// The threads that run nodes, and runs that end early: threads, runners, cancellation, deadlines, many runs at once.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/executor_barrier.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/error.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// What the kernels of a test share.
struct Shared {
  std::atomic<int> running{0}, most_running{0}, ran{0};
  std::atomic<int> depth_errors{0};
  Mutex mu;
  std::set<std::thread::id> threads;

  void Enter() {
    const int now = running.fetch_add(1) + 1;
    int most = most_running.load();
    while (now > most && !most_running.compare_exchange_weak(most, now)) {
    }
    MutexLock lock(&mu);
    threads.insert(std::this_thread::get_id());
  }
  void Leave() {
    running.fetch_sub(1);
    ran.fetch_add(1);
  }
};

// Takes its time, polls for cancellation meanwhile, and hands its input on.
class SlowKernel : public Kernel {
 public:
  SlowKernel(Shared* shared, absl::Duration time) : shared_(shared), time_(time) {}
  absl::Status Compute(KernelContext& context) const override {
    static thread_local int depth = 0;
    if (++depth > 1) shared_->depth_errors.fetch_add(1);
    shared_->Enter();
    const absl::Time until = absl::Now() + time_;
    while (absl::Now() < until && !context.IsCancelled()) {
    }
    shared_->Leave();
    --depth;
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kHeavy; }

 private:
  Shared* const shared_;
  const absl::Duration time_;
};

class ExecutorThreadsTest : public testing::Test {
 protected:
  void UseSlowKernel(absl::Duration time) {
    ASSERT_OK(harness_.registry().Add(OwnedKernelRow(
        "Neg", [this, time](const KernelConstruction&) { return std::make_unique<SlowKernel>(&shared_, time); })));
  }
  Output Slow(Output x) { return b_.Op("Neg", "", {x}); }
  Output One() { return b_.Op("Identity", "", {b_.Const("", Tensor::Scalar(1.0f))}); }
  Output Recv(const std::string& name) {
    GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs(name);
    attrs.emplace_back("tensor_type", DType::kFloat);
    return b_.Op("_Recv", "recv_" + name, {}, attrs);
  }
  void Build() {
    ASSERT_OK_AND_ASSIGN(Graph graph, b_.Build());
    ASSERT_OK(harness_.Build(std::move(graph)));
  }
  // A loop that never ends.
  void EndlessLoop() {
    const Output in = b_.Op("Enter", "enter", {One()}, {{"frame_name", "loop"}});
    const Output merge = b_.Op("Merge", "merge", {in, in});
    const Output yes = b_.Const("yes", Tensor::Scalar(true));
    b_.AddControl(yes, GraphBuilder::Control(merge));
    const Output sw = b_.Op("Switch", "switch", {merge, b_.Op("LoopCond", "cond", {yes})});
    b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {b_.Op("Identity", "body", {GraphBuilder::Nth(sw, 1)})}));
    b_.Op("Exit", "exit", {sw});
  }
  // The answer of a run that is cancelled 5 ms after its start.
  absl::Status RunAndCancel() {
    CancellationManager cancellation;
    Executor::Args args = harness_.args();
    args.cancellation = &cancellation;
    std::thread canceller([&] {
      absl::SleepFor(absl::Milliseconds(5));
      cancellation.StartCancel();
    });
    const absl::Status status = harness_.executor().Run(args);
    canceller.join();
    return status;
  }
  static ThreadPoolOptions Threads(int count) {
    ThreadPoolOptions options;
    options.num_threads = count;
    return options;
  }

  Shared shared_;
  // After any run, no reference to the rendezvous is left, and the executor frees all tensors, slots and frames.
  void TearDown() override {
    EXPECT_TRUE(harness_.rendezvous().RefCountIsOne());
    b_ = GraphBuilder(NewOpRegistry());
    harness_owner_.reset();
    EXPECT_EQ(HostAllocatorLiveBytes(), bytes_before_);
  }

  const int64_t bytes_before_ = HostAllocatorLiveBytes();
  GraphBuilder b_{NewOpRegistry()};
  std::unique_ptr<ExecutorHarness> harness_owner_ = std::make_unique<ExecutorHarness>();
  ExecutorHarness& harness_ = *harness_owner_;
};

TEST_F(ExecutorThreadsTest, WithoutAPoolEverythingRunsOnTheCallersThread) {
  UseSlowKernel(absl::ZeroDuration());
  const Output x = One();
  for (int i = 0; i < 50; ++i) Slow(x);
  Build();
  ASSERT_OK(harness_.Run());
  EXPECT_EQ(shared_.ran, 50);
  EXPECT_EQ(shared_.threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST_F(ExecutorThreadsTest, SlowNodesAreSharedByThePool) {
  UseSlowKernel(absl::Milliseconds(2));
  const Output x = One();
  for (int i = 0; i < 32; ++i) Slow(x);
  Build();
  ThreadPool pool(Threads(4));
  Executor::Args args = harness_.args();
  args.task_runner = &pool;
  ASSERT_OK(harness_.executor().Run(args));
  EXPECT_EQ(shared_.ran, 32);
  EXPECT_GT(shared_.most_running, 1);
  EXPECT_LE(shared_.most_running, 4);
}

TEST_F(ExecutorThreadsTest, InlineRunsKeepToOneThread) {
  UseSlowKernel(absl::Microseconds(100));
  const Output x = One();
  for (int i = 0; i < 20; ++i) Slow(Slow(x));
  Build();
  ThreadPool pool(Threads(4));
  Executor::Args args = harness_.args();
  args.task_runner = &pool;
  args.run_all_kernels_inline = true;
  ASSERT_OK(harness_.executor().Run(args));
  EXPECT_EQ(shared_.threads, std::set<std::thread::id>{std::this_thread::get_id()});
  EXPECT_EQ(shared_.most_running, 1);
}

TEST_F(ExecutorThreadsTest, ARunnerSaysWhereNodesRun) {
  UseSlowKernel(absl::ZeroDuration());
  Slow(One());
  Build();
  std::vector<std::thread> threads;
  const Runner runner = [&threads](absl::AnyInvocable<void()> work) { threads.emplace_back(std::move(work)); };
  Executor::Args args = harness_.args();
  args.runner = &runner;
  ASSERT_OK(harness_.executor().Run(args));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_EQ(shared_.threads.count(std::this_thread::get_id()), 0u);
}

TEST_F(ExecutorThreadsTest, ARunnerThatDropsItsWorkEndsTheRun) {
  UseSlowKernel(absl::ZeroDuration());
  Slow(Recv("a"));
  Build();
  const Runner drops_all = [](absl::AnyInvocable<void()>) {};
  int num_calls = 0;
  const Runner drops_later = [&num_calls](absl::AnyInvocable<void()> work) {
    if (num_calls++ == 0) work();
  };
  for (const Runner* runner : {&drops_all, &drops_later}) {
    harness_.NewRendezvous();
    Executor::Args args = harness_.args();
    args.runner = runner;
    absl::Status status;
    harness_.executor().RunAsync(args, [&status](absl::Status s) { status = std::move(s); });
    harness_.Send("a", Tensor::Scalar(1.0f)).IgnoreError();  // Ends the Recv, if the run has come to it.
    EXPECT_THAT(status, IsError(ErrorCode::kRunCancelled, "dropped"));
  }
  Executor::Args args = harness_.args();
  args.runner = &drops_all;
  EXPECT_THAT(harness_.executor().Run(args), IsError(ErrorCode::kRunCancelled, "dropped"));
  EXPECT_EQ(shared_.ran, 0);
}

TEST_F(ExecutorThreadsTest, DeepGraphsDoNotRunInOneAnother) {
  UseSlowKernel(absl::ZeroDuration());
  Output x = One();
  for (int i = 0; i < 20000; ++i) x = Slow(x);
  Build();
  const Runner runner = [](absl::AnyInvocable<void()> work) { work(); };
  for (const bool is_inline : {true, false}) {
    Executor::Args args = harness_.args();
    args.runner = &runner;
    args.run_all_kernels_inline = is_inline;
    ASSERT_OK(harness_.executor().Run(args));
  }
  EXPECT_EQ(shared_.depth_errors, 0);
}

TEST_F(ExecutorThreadsTest, CancellationEndsABlockedRecv) {
  Recv("never");
  Build();
  EXPECT_THAT(RunAndCancel(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ExecutorThreadsTest, CancellationEndsABusyLoop) {
  EndlessLoop();
  Build();
  EXPECT_THAT(RunAndCancel(), StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(ExecutorThreadsTest, ADeadlineEndsABusyLoopAndABlockedRecv) {
  EndlessLoop();
  Build();
  for (int i = 0; i < 2; ++i) {
    Executor::Args args = harness_.args();
    args.deadline = absl::Now() + absl::Milliseconds(10);
    EXPECT_THAT(harness_.executor().Run(args), IsError(ErrorCode::kDeadline));
    EXPECT_GE(absl::Now(), args.deadline);
    b_ = GraphBuilder(NewOpRegistry());
    Recv("never");
    Build();
    harness_.NewRendezvous();
  }
}

// Takes its time over an abort, after the receives have got it: the run may be over before StartAbort returns.
class SlowAbort : public LocalRendezvous {
 public:
  using LocalRendezvous::LocalRendezvous;
  void StartAbort(const absl::Status& status) override {
    LocalRendezvous::StartAbort(status);
    absl::SleepFor(absl::Milliseconds(20));
  }
};

// The waiting thread finds the deadline passed and stops the run, which a thread of the pool ends meanwhile.
TEST_F(ExecutorThreadsTest, ARunMayEndWhileItsWaitingThreadStopsIt) {
  Recv("never");
  ASSERT_OK(b_.status());
  const Graph graph = b_.graph();
  ThreadPool pool(Threads(2));
  for (int i = 0; i < 8; ++i) {
    const bool cancel_on_error = (i & 1) != 0, has_pool = (i & 2) != 0;
    ASSERT_OK(harness_.Build(graph, "", (i & 4) != 0 ? Driver::kSerial : Driver::kDataflow));
    CancellationManager cancellation;
    const auto rendezvous = MakeCounted<SlowAbort>(harness_.edges());
    Executor::Args args = harness_.args();
    if (has_pool) args.task_runner = &pool;
    args.cancellation = &cancellation;
    args.cancel_on_error = cancel_on_error;
    args.rendezvous = rendezvous.get();
    args.deadline = absl::Now() + absl::Milliseconds(5);
    EXPECT_THAT(harness_.executor().Run(args), IsError(ErrorCode::kDeadline));
    EXPECT_EQ(cancellation.IsCancelled(), cancel_on_error);
  }
}

TEST_F(ExecutorThreadsTest, ADeadlineInThePastRunsNothing) {
  UseSlowKernel(absl::ZeroDuration());
  Slow(One());
  Build();
  Executor::Args args = harness_.args();
  for (const absl::Time deadline : {absl::InfinitePast(), absl::UnixEpoch(), absl::Now()}) {
    args.deadline = deadline;
    EXPECT_THAT(harness_.executor().Run(args), IsError(ErrorCode::kDeadline));
    absl::Status status;
    harness_.executor().RunAsync(args, [&status](absl::Status s) { status = std::move(s); });
    EXPECT_THAT(status, IsError(ErrorCode::kDeadline));
  }
  EXPECT_EQ(shared_.ran, 0);
}

TEST_F(ExecutorThreadsTest, ARunThatWasCancelledBeforeItBeganRunsNothing) {
  UseSlowKernel(absl::ZeroDuration());
  Slow(One());
  Recv("never");
  Build();
  CancellationManager cancellation;
  cancellation.StartCancel();
  Executor::Args args = harness_.args();
  args.cancellation = &cancellation;
  EXPECT_THAT(harness_.executor().Run(args), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(shared_.ran, 0);
}

TEST_F(ExecutorThreadsTest, ADeadlineIsAnsweredAfterAllWorkHasStopped) {
  UseSlowKernel(absl::Seconds(10));
  const Output x = One();
  Slow(x);
  Slow(x);
  Build();
  ThreadPool pool(Threads(2));
  CancellationManager cancellation;
  Executor::Args args = harness_.args();
  args.task_runner = &pool;
  args.cancellation = &cancellation;
  args.deadline = absl::Now() + absl::Milliseconds(20);
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(30));
    cancellation.StartCancel();
  });
  EXPECT_FALSE(harness_.executor().Run(args).ok());
  EXPECT_EQ(shared_.running, 0);
  canceller.join();
}

TEST_F(ExecutorThreadsTest, TheDeadlineOfAnAsynchronousRunIsKeptWhileItWaits) {
  Recv("never");
  Build();
  Executor::Args args = harness_.args();
  args.deadline = absl::Now() + absl::Milliseconds(10);
  Notification done;
  absl::Status status;
  harness_.executor().RunAsync(args, [&](absl::Status s) {
    status = std::move(s);
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_THAT(status, IsError(ErrorCode::kDeadline));
}

TEST_F(ExecutorThreadsTest, TwoExecutorsOfAStepHandValuesToEachOtherOnOneThread) {
  // 1,000 times there and back, without a thread and without growing the stack.
  const auto send = [this](const std::string& name, Output x) {
    b_.Op("_Send", "send_" + name, {x}, ExecutorHarness::TransferAttrs(name));
  };
  ExecutorHarness other;
  Output there = One();
  for (int i = 0; i < 1000; ++i) {
    send(absl::StrCat("a", i), there);
    there = Recv(absl::StrCat("b", i));
  }
  Build();
  b_ = GraphBuilder(NewOpRegistry());
  for (int i = 0; i < 1000; ++i) send(absl::StrCat("b", i), Recv(absl::StrCat("a", i)));
  ASSERT_OK_AND_ASSIGN(Graph graph, b_.Build());
  LocalExecutorParams params;
  params.device = &harness_.device();
  params.registry = &harness_.registry();
  params.edges = &harness_.edges();
  params.driver = Driver::kDataflow;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> second, NewLocalExecutor(params, std::move(graph)));
  Notification done;
  absl::Status status;
  ExecutorBarrier& barrier = ExecutorBarrier::Create(2, &harness_.rendezvous(), [&](absl::Status s) {
    status = std::move(s);
    done.Notify();
  });
  second->RunAsync(harness_.args(), barrier.Get());
  harness_.executor().RunAsync(harness_.args(), barrier.Get());
  done.WaitForNotification();
  EXPECT_OK(status);
  EXPECT_EQ(harness_.rendezvous().num_waiting_keys(), 0u);
}

TEST_F(ExecutorThreadsTest, ManyRunsAtOnceWithCancellationsAndDeadlines) {
  UseSlowKernel(absl::Microseconds(30));
  const Output start = Recv("start");
  std::vector<Output> ends;
  for (int i = 0; i < 6; ++i) ends.push_back(Slow(b_.Op("Identity", "", {Slow(start)})));
  b_.Op("_Retval", "result", {b_.Op("AddN", "sum", ends)}, {{"index", int64_t{0}}});
  Build();
  const char* const count_text = std::getenv("SLUICE_RUNS");
  const int count = count_text != nullptr ? std::atoi(count_text) : 300;
  ThreadPool pool(Threads(4));
  std::atomic<int> left{count}, wrong{0};
  Notification all_done;
  struct Run {
    CancellationManager cancellation;
    VectorCallFrame frame{{}, 1};
    CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>();
  };
  std::vector<std::unique_ptr<Run>> runs;
  const RendezvousKey key{
      harness_.edges().Number(absl::StrCat(EdgeText(harness_.device().name(), 1, harness_.device().name(), "start")))};
  for (int i = 0; i < count; ++i) {
    runs.push_back(std::make_unique<Run>());
    Run& run = *runs.back();
    Executor::Args args = harness_.args();
    args.task_runner = &pool;
    args.call_frame = &run.frame;
    args.rendezvous = run.rendezvous.get();
    args.cancellation = &run.cancellation;
    if (i % 7 == 3) args.deadline = absl::Now() + absl::Milliseconds(1);
    harness_.executor().RunAsync(args, [&, i](const absl::Status& status) {
      const Tensor& result = run.frame.results()[0];
      if (status.ok() && (!result.has_value() || result.flat<float>()[0] != 6.0f)) wrong.fetch_add(1);
      if (!status.ok() && i % 7 != 3 && i % 5 != 2) wrong.fetch_add(1);
      if (left.fetch_sub(1) == 1) all_done.Notify();
    });
  }
  for (int i = 0; i < count; ++i) {
    if (i % 5 == 2) runs[static_cast<size_t>(i)]->cancellation.StartCancel();
    runs[static_cast<size_t>(i)]->rendezvous->Send(key, {}, {Tensor::Scalar(1.0f), false}).IgnoreError();
  }
  all_done.WaitForNotification();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace sluice

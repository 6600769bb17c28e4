// Guarantees for hosts under every driver: values, errors, cancellation, deadlines, runners, and the thread that `done`
// comes on.

#include <atomic>
#include <functional>
#include <map>
#include <new>
#include <stdexcept>
#include <thread>

#include "absl/time/clock.h"
#include "executor/threads/thread_pool.h"
#include "executor/trace/node_observer.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/executor/compiled/executor_fixture.h"
#include "tests/testing/executor_harness.h"

namespace sluice {
namespace {

class StepExecutorsTest : public ExecutorFixture, public ::testing::WithParamInterface<Driver> {
 protected:
  std::unique_ptr<Executor> MakeIt(absl::string_view kind = kDefaultExecutor) { return Make(GetParam(), kind); }
};

INSTANTIATE_TEST_SUITE_P(Drivers, StepExecutorsTest,
                         ::testing::Values(Driver::kAuto, Driver::kSerial, Driver::kDataflow),
                         [](const ::testing::TestParamInfo<Driver>& info) {
                           return info.param == Driver::kAuto     ? "Auto"
                                  : info.param == Driver::kSerial ? "Serial"
                                                                  : "Dataflow";
                         });

TEST_P(StepExecutorsTest, ValuesGoThroughAnyFrame) {
  AddPolynomial();
  const std::unique_ptr<Executor> executor = MakeIt();
  for (int32_t x = 0; x < 3; ++x) {
    Tensor in[] = {Int(x)}, out[1];
    SpanCallFrame spans(absl::MakeSpan(in), absl::MakeSpan(out));
    VectorCallFrame vectors({Int(x)}, 1);
    Executor::Args args;
    args.call_frame = &spans;
    ASSERT_OK(executor->Run(args));
    EXPECT_EQ(*out[0].AsScalar<int32_t>(), x * x + x);
    args.call_frame = &vectors;
    ASSERT_OK(RunAsyncAndWait(*executor, args));
    EXPECT_EQ(*vectors.results()[0].AsScalar<int32_t>(), x * x + x);
  }
}

// Many values lie in registers of the heap.
TEST_P(StepExecutorsTest, ManyValuesAreAliveAtOnce) {
  std::vector<Output> parts;
  for (int i = 0; i < 20; ++i) parts.push_back(b_.Op("Mul", "", {Arg(i), Arg(20 + i)}));
  Output sum = parts[0];
  for (int i = 1; i < 20; ++i) sum = b_.Op("AddV2", "", {sum, parts[static_cast<size_t>(i)]});
  Return(0, sum);
  Return(1, parts[3]);
  const std::unique_ptr<Executor> executor = MakeIt();
  for (int run = 0; run < 3; ++run) {
    Tensor in[40], out[2];
    for (Tensor& value : in) value = Int(2);
    SpanCallFrame frame(absl::MakeSpan(in), absl::MakeSpan(out));
    Executor::Args args;
    args.call_frame = &frame;
    ASSERT_OK(executor->Run(args));
    EXPECT_EQ(*out[0].AsScalar<int32_t>(), 80);
    EXPECT_EQ(*out[1].AsScalar<int32_t>(), 4);
  }
}

TEST_P(StepExecutorsTest, AFrameThatDoesNotFitIsRefusedByItsNodes) {
  AddPolynomial();
  const std::unique_ptr<Executor> executor = MakeIt();
  const auto run = [&](absl::Span<Tensor> in, absl::Span<Tensor> out) {
    SpanCallFrame frame(in, out);
    Executor::Args args;
    args.call_frame = &frame;
    return executor->Run(args);
  };
  Tensor in[1], out[1];
  const auto inputs = absl::MakeSpan(in), outputs = absl::MakeSpan(out);
  EXPECT_THAT(executor->Run({}), IsError(ErrorCode::kFacilityMissing, "'arg0'"));
  EXPECT_THAT(run({}, outputs), IsError(ErrorCode::kFeedMissing, "'arg0'"));
  EXPECT_THAT(run(inputs, outputs), IsError(ErrorCode::kFeedMissing, "'arg0'"));
  in[0] = Tensor::Scalar(1.0f);
  EXPECT_THAT(run(inputs, outputs), IsError(ErrorCode::kFeedType, "'arg0'"));
  in[0] = Int(1);
  EXPECT_THAT(run(inputs, {}), IsError(ErrorCode::kWrongUse, "'result0'"));
  in[0] = Int(1);
  out[0] = Int(7);
  EXPECT_THAT(run(inputs, outputs), IsError(ErrorCode::kInternal, "'result0'"));
  EXPECT_EQ(*out[0].AsScalar<int32_t>(), 7);
}

TEST_P(StepExecutorsTest, AnErrorAbortsAndCancelsUnlessTheManagerIsOthersToo) {
  Return(0, b_.Op("FloorDiv", "quotient", {b_.Const("one", Int(1)), b_.Const("zero", Int(0))}));
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const bool cancel_on_error : {true, false}) {
    const CountedPtr<LocalRendezvous> rendezvous = MakeCounted<LocalRendezvous>();
    CancellationManager cancellation;
    VectorCallFrame frame({}, 1);
    Executor::Args args;
    args.rendezvous = rendezvous.get();
    args.cancellation = &cancellation;
    args.call_frame = &frame;
    args.cancel_on_error = cancel_on_error;
    EXPECT_THAT(executor->Run(args), StatusIs(absl::StatusCode::kInvalidArgument, "'quotient'"));
    EXPECT_FALSE(rendezvous->Send({EdgeNumber(0), 0, 0}, {}, {Int(1), false}).ok());
    EXPECT_EQ(cancellation.IsCancelled(), cancel_on_error);
    EXPECT_EQ(cancellation.status().code(),
              cancel_on_error ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kOk);
  }
}

TEST_P(StepExecutorsTest, WhatIsThrownIsAnErrorOfTheNode) {
  bool no_memory = false;
  UseKernel([&](KernelContext&) -> absl::Status {
    if (no_memory) throw std::bad_alloc();
    throw std::runtime_error("bad kernel");
  });
  Return(0, b_.Op("Neg", "thrower", {Arg(0)}));
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const ErrorCode expected : {ErrorCode::kKernelException, ErrorCode::kOutOfMemory}) {
    VectorCallFrame frame({Int(1)}, 1);
    Executor::Args args;
    args.call_frame = &frame;
    EXPECT_THAT(executor->Run(args), IsError(expected, "'thrower'"));
    EXPECT_THAT(RunAsyncAndWait(*executor, args), IsError(expected, "'thrower'"));
    no_memory = true;
  }
}

TEST_P(StepExecutorsTest, ACancellationEndsARunWithItsCause) {
  AddEndlessLoop();
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const bool cancel_on_error : {true, false}) {
    CancellationManager cancellation;
    VectorCallFrame frame({}, 1);
    Executor::Args args;
    args.cancellation = &cancellation;
    args.call_frame = &frame;
    args.cancel_on_error = cancel_on_error;
    std::thread canceller([&] {
      absl::SleepFor(absl::Milliseconds(10));
      cancellation.StartCancelWithStatus(absl::UnavailableError("the host goes home"));
    });
    EXPECT_THAT(executor->Run(args), StatusIs(absl::StatusCode::kUnavailable, "goes home"));
    canceller.join();
    EXPECT_THAT(RunAsyncAndWait(*executor, args), StatusIs(absl::StatusCode::kUnavailable, "goes home"));
  }
}

TEST_P(StepExecutorsTest, ADeadlineEndsLoopsAndKernelsThatAsk) {
  for (const bool is_loop : {true, false}) {
    b_ = GraphBuilder(NewOpRegistry());
    if (is_loop) {
      AddEndlessLoop();
    } else {
      UseKernel([](KernelContext& context) -> absl::Status {
        while (!context.IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
        return absl::CancelledError("was told to stop");
      });
      Return(0, b_.Op("Neg", "", {b_.Op("Identity", "", {b_.Const("", Int(1))})}));
    }
    const std::unique_ptr<Executor> executor = MakeIt();
    for (const bool is_async : {false, true}) {
      CancellationManager cancellation;
      VectorCallFrame frame({}, 1);
      Executor::Args args;
      args.cancellation = &cancellation;
      args.call_frame = &frame;
      args.deadline = absl::Now() + absl::Milliseconds(20);
      EXPECT_THAT(is_async ? RunAsyncAndWait(*executor, args) : executor->Run(args), IsError(ErrorCode::kDeadline));
      EXPECT_THAT(cancellation.status(), IsError(ErrorCode::kDeadline));
    }
  }
}

TEST_P(StepExecutorsTest, ADeadlineThatPassesInTheLastKernelCounts) {
  UseKernel([](KernelContext& context) -> absl::Status {
    absl::SleepFor(absl::Milliseconds(5));
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  });
  Return(0, b_.Op("Neg", "", {Arg(0)}));
  const std::unique_ptr<Executor> executor = MakeIt();
  VectorCallFrame frame({Int(1)}, 1);
  Executor::Args args;
  args.call_frame = &frame;
  args.deadline = absl::Now() + absl::Milliseconds(1);
  EXPECT_THAT(executor->Run(args), IsError(ErrorCode::kDeadline));
}

TEST_P(StepExecutorsTest, ARunnerHasAllOfTheRun) {
  std::atomic<int> elsewhere{0};
  const std::thread::id host = std::this_thread::get_id();
  UseKernel([&](KernelContext& context) {
    if (std::this_thread::get_id() == host) ++elsewhere;
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  });
  Return(0, b_.Op("Neg", "", {Arg(0)}));
  const std::unique_ptr<Executor> executor = MakeIt();
  std::vector<std::thread> threads;
  Mutex mu;
  const Runner runner = [&](absl::AnyInvocable<void()> work) {
    MutexLock lock(&mu);
    threads.emplace_back(std::move(work));
  };
  for (const bool is_async : {false, true}) {
    VectorCallFrame frame({Int(3)}, 1);
    Executor::Args args;
    args.call_frame = &frame;
    args.runner = &runner;
    ASSERT_OK(is_async ? RunAsyncAndWait(*executor, args) : executor->Run(args));
    EXPECT_EQ(*frame.results()[0].AsScalar<int32_t>(), 3);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(threads.size(), 2u);
  EXPECT_EQ(elsewhere, 0) << "a kernel ran on the calling thread";
}

TEST_P(StepExecutorsTest, ARunnerThatDropsOrThrowsEndsTheRun) {
  AddPolynomial();
  const std::unique_ptr<Executor> executor = MakeIt();
  std::vector<absl::AnyInvocable<void()>> kept;
  const Runner drops = [](absl::AnyInvocable<void()>) {};
  const Runner throws = [](absl::AnyInvocable<void()>) { throw std::runtime_error("no threads left"); };
  const Runner drops_later = [&](absl::AnyInvocable<void()> work) { kept.push_back(std::move(work)); };
  CancellationManager cancellation;
  VectorCallFrame frame({Int(3)}, 1);
  Executor::Args args;
  args.call_frame = &frame;
  args.runner = &drops;
  EXPECT_THAT(executor->Run(args), IsError(ErrorCode::kRunCancelled, "dropped"));
  args.runner = &throws;
  EXPECT_THAT(RunAsyncAndWait(*executor, args), IsError(ErrorCode::kKernelException, "no threads left"));
  args.runner = &drops_later;
  args.cancellation = &cancellation;
  absl::Status outcome;
  int calls = 0;
  executor->RunAsync(args, [&](absl::Status status) {
    outcome = std::move(status);
    ++calls;
  });
  EXPECT_EQ(calls, 0);
  kept.clear();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(outcome, IsError(ErrorCode::kRunCancelled, "dropped"));
  EXPECT_TRUE(cancellation.IsCancelled());
}

TEST_P(StepExecutorsTest, AHundredThousandRunsMayBeginEachInTheDoneOfTheOneBefore) {
  AddPolynomial();
  const std::unique_ptr<Executor> executor = MakeIt();
  ThreadPool pool(ThreadPoolOptions{2});
  const Runner runs_at_once = [](absl::AnyInvocable<void()> work) { work(); };
  for (const int host : {0, 1, 2}) {
    VectorCallFrame frame({Int(3)}, 1);
    Executor::Args args;
    args.call_frame = &frame;
    if (host == 1) args.task_runner = &pool;
    if (host == 2) args.runner = &runs_at_once;
    int left = 100'000;
    const char* const top = static_cast<const char*>(__builtin_frame_address(0));
    int64_t deepest = 0;
    Notification over;
    std::function<void()> begin = [&] {
      deepest = std::max<int64_t>(deepest, top - static_cast<const char*>(__builtin_frame_address(0)));
      executor->RunAsync(args, [&](const absl::Status& status) {
        EXPECT_OK(status);
        --left > 0 ? begin() : over.Notify();
      });
    };
    begin();
    over.WaitForNotification();
    EXPECT_LT(deepest, 512 << 10) << host;
  }
}

TEST_P(StepExecutorsTest, ChainsOfRunsThatARunnerRefusesDoNotGrowTheStack) {
  AddPolynomial();
  const std::unique_ptr<Executor> executor = MakeIt();
  const Runner drops = [](absl::AnyInvocable<void()>) {};
  const Runner throws = [](absl::AnyInvocable<void()>) { throw std::runtime_error("no threads left"); };
  for (const Runner* const runner : {&drops, &throws}) {
    VectorCallFrame frame({Int(3)}, 1);
    Executor::Args args;
    args.call_frame = &frame;
    args.runner = runner;
    int left = 20'000;
    const char* const top = static_cast<const char*>(__builtin_frame_address(0));
    int64_t deepest = 0;
    std::function<void()> begin = [&] {
      deepest = std::max<int64_t>(deepest, top - static_cast<const char*>(__builtin_frame_address(0)));
      executor->RunAsync(args, [&](const absl::Status& status) {
        EXPECT_FALSE(status.ok());
        if (--left > 0) begin();
      });
    };
    begin();
    EXPECT_EQ(left, 0);
    EXPECT_LT(deepest, 512 << 10);
  }
}

TEST_P(StepExecutorsTest, ARunThatWasCancelledBeforehandAnswersTheCause) {
  Return(0, Arg(0));
  const std::unique_ptr<Executor> executor = MakeIt();
  for (const bool cancel_on_error : {true, false}) {
    CancellationManager cancellation;
    cancellation.StartCancelWithStatus(absl::UnavailableError("the host goes home"));
    VectorCallFrame frame({Int(1)}, 1);
    Executor::Args args;
    args.cancellation = &cancellation;
    args.call_frame = &frame;
    args.cancel_on_error = cancel_on_error;
    EXPECT_THAT(executor->Run(args), StatusIs(absl::StatusCode::kUnavailable, "goes home"));
    EXPECT_THAT(RunAsyncAndWait(*executor, args), StatusIs(absl::StatusCode::kUnavailable, "goes home"));
  }
}

// Its queued work takes until the deadline, and then fails.
class SlowDevice final : public CpuDevice {
 public:
  using CpuDevice::CpuDevice;
  absl::Status Sync() override {
    ++num_syncs;
    while (absl::Now() <= until) absl::SleepFor(absl::Milliseconds(1));
    return outcome;
  }
  absl::Time until = absl::InfinitePast();
  absl::Status outcome;
  int num_syncs = 0;
};

TEST_P(StepExecutorsTest, TheDevicesWorkCountsTowardsTheDeadline) {
  Return(0, Arg(0));
  SlowDevice device(absl::StrCat(kLocalTask, "/device:CPU:0"), 1);
  LocalExecutorParams params = Params(GetParam());
  params.device = &device;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> executor, NewLocalExecutor(params, b_.graph()));
  for (const bool is_async : {false, true}) {
    const auto run = [&](absl::Duration time) {
      VectorCallFrame frame({Int(1)}, 1);
      Executor::Args args;
      args.call_frame = &frame;
      args.sync_on_finish = true;
      args.deadline = absl::Now() + time;
      device.until = time > absl::ZeroDuration() && time < absl::Hours(1) ? args.deadline : absl::InfinitePast();
      return is_async ? RunAsyncAndWait(*executor, args) : executor->Run(args);
    };
    device.outcome = absl::OkStatus();
    EXPECT_OK(run(absl::Hours(1)));
    EXPECT_THAT(run(absl::Milliseconds(20)), IsError(ErrorCode::kDeadline));
    device.outcome = absl::DataLossError("broken");
    EXPECT_THAT(run(absl::Milliseconds(20)), StatusIs(absl::StatusCode::kDataLoss, "broken"));
    const int num_syncs = device.num_syncs;
    EXPECT_THAT(run(absl::Milliseconds(-1)), IsError(ErrorCode::kDeadline));
    EXPECT_EQ(device.num_syncs, num_syncs) << "what is late is not waited for";
  }
}

TEST_P(StepExecutorsTest, TheSingleThreadedKindGivesKernelsNoThreads) {
  std::atomic<int> with_threads{0}, calls{0};
  UseKernel([&](KernelContext& context) {
    ++calls;
    if (context.run().task_runner != nullptr) ++with_threads;
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  });
  Return(0, b_.Op("Neg", "", {Arg(0)}));
  const std::unique_ptr<Executor> executor = MakeIt(kSingleThreadedExecutor);
  ThreadPool pool(ThreadPoolOptions{2});
  const Runner runner = [](absl::AnyInvocable<void()> work) { work(); };
  for (const bool has_runner : {false, true}) {
    VectorCallFrame frame({Int(3)}, 1);
    Executor::Args args;
    args.call_frame = &frame;
    args.task_runner = &pool;
    if (has_runner) args.runner = &runner;
    ASSERT_OK(executor->Run(args));
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(with_threads, 0);
}

TEST_P(StepExecutorsTest, KernelsFindTheDeviceAndItsState) {
  UseKernel([&](KernelContext& context) -> absl::Status {
    const RunContext& run = context.run();
    if (run.device != &device_ || run.resources != &device_.resources() || run.allocator != &device_.allocator()) {
      return absl::InternalError("not the executor's");
    }
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  });
  Return(0, b_.Op("Neg", "", {Arg(0)}));
  const std::unique_ptr<Executor> executor = MakeIt();
  CpuDevice other(absl::StrCat(kLocalTask, "/device:CPU:1"), 1);
  VectorCallFrame frame({Int(3)}, 1);
  Executor::Args args;
  args.call_frame = &frame;
  args.device = &other;  // Not the caller's to say.
  EXPECT_OK(executor->Run(args));
}

// Counts the calls of kernels by node.
class Counter final : public NodeObserver {
 public:
  void OnNode(NodeId node, int64_t, int64_t, const KernelContext&) override {
    MutexLock lock(&mu_);
    ++calls_[node.value()];
  }
  std::map<int32_t, int> calls() {
    MutexLock lock(&mu_);
    return calls_;
  }

 private:
  Mutex mu_;
  std::map<int32_t, int> calls_ ABSL_GUARDED_BY(mu_);
};

TEST_F(ExecutorFixture, AnObserverOfAHostHearsOfTheSameCallsAsWithTheDataflowDriver) {
  AddPolynomial();
  std::map<int32_t, int> calls[2];
  for (const Driver driver : {Driver::kAuto, Driver::kDataflow}) {
    const std::unique_ptr<Executor> executor = Make(driver);
    for (const bool is_async : {false, true}) {
      Counter counter;
      VectorCallFrame frame({Int(3)}, 1);
      Executor::Args args;
      args.call_frame = &frame;
      args.observer = &counter;
      ASSERT_OK(is_async ? RunAsyncAndWait(*executor, args) : executor->Run(args));
      calls[driver == Driver::kAuto] = counter.calls();
    }
  }
  EXPECT_EQ(calls[0], calls[1]);
  EXPECT_EQ(calls[0].size(), 4u) << "argument, product, sum, result";
}

}  // namespace
}  // namespace sluice

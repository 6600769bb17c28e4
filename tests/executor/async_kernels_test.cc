// Asynchronous kernels that do not keep to the rule "calls done exactly once": their calls end once all the same.

#include <atomic>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>

#include "absl/strings/match.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "kernels/kernel.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Done = AsyncKernel::Done;

// An asynchronous kernel that is a function.
class AsyncFunctionKernel final : public AsyncKernel {
 public:
  using Function = std::function<void(KernelContext& context, Done done)>;

  AsyncFunctionKernel(Function function, CostHint hint) : function_(std::move(function)), hint_(hint) {}
  void ComputeAsync(KernelContext& context, Done done) const override { function_(context, std::move(done)); }
  CostHint cost_hint() const override { return hint_; }

 private:
  const Function function_;
  const CostHint hint_;
};

struct AsyncCase {
  int num_threads;
  CostHint hint;  // Cheap ones begin under the baton, others on any thread.
  Driver driver = Driver::kDataflow;
};

// Some calls of a kernel side by side, the sum of which is sent.
class AsyncKernelsTest : public testing::TestWithParam<AsyncCase> {
 protected:
  static constexpr int kCalls = 6, kRuns = 20;

  void Build(AsyncFunctionKernel::Function function) {
    ASSERT_OK(harness_->registry().Add(OwnedKernelRow("Neg", [this, function](const KernelConstruction&) {
      return std::make_unique<AsyncFunctionKernel>(function, hint_);
    })));
    const Output one = b_.Op("Identity", "", {b_.Const("one", Tensor::Scalar(1.0f))});
    Output sum = one;
    for (int i = 0; i < kCalls; ++i) sum = b_.Op("Add", "", {b_.Op("Neg", "", {one}), sum});
    b_.Op("_Send", "send", {sum}, ExecutorHarness::TransferAttrs("sum"));
    ASSERT_OK_AND_ASSIGN(Graph graph, b_.Build());
    ASSERT_OK(harness_->Build(std::move(graph), "", GetParam().driver));
  }
  // One run, after which it may only be over once.
  absl::Status Run() {
    harness_->NewRendezvous();
    Executor::Args args = harness_->args();
    args.task_runner = pool_.get();
    std::atomic<int> ends{0};
    Notification over;
    absl::Status outcome;
    harness_->executor().RunAsync(args, [&](absl::Status status) {
      if (ends.fetch_add(1) > 0) return;
      outcome = std::move(status);
      over.Notify();
    });
    over.WaitForNotification();
    EXPECT_EQ(ends, 1);
    return outcome;
  }
  void ExpectSum() {
    ASSERT_OK(Run());
    ASSERT_OK_AND_ASSIGN(const RendezvousValue value, harness_->Recv("sum"));
    EXPECT_EQ(value.tensor.flat<float>()[0], 1.0f - kCalls);
  }
  // Waits until no thread is in a kernel: calls, and runs, may end before their kernel returns.
  void LeaveKernels() { pool_.reset(); }
  static void Negate(KernelContext& context) {
    context.SetOutput(0, Tensor::Scalar(-context.TakeInput(0).flat<float>()[0]));
  }
  void TearDown() override {
    LeaveKernels();
    b_ = GraphBuilder(NewOpRegistry());
    harness_.reset();
    EXPECT_EQ(HostAllocatorLiveBytes(), bytes_before_);
  }

  CostHint hint_ = GetParam().hint;
  const int64_t bytes_before_ = HostAllocatorLiveBytes();
  const LogCapture log_;
  std::unique_ptr<ThreadPool> pool_ = std::make_unique<ThreadPool>(ThreadPoolOptions{GetParam().num_threads});
  GraphBuilder b_{NewOpRegistry()};
  std::unique_ptr<ExecutorHarness> harness_ = std::make_unique<ExecutorHarness>();
};

TEST_P(AsyncKernelsTest, WhatIsThrownBeforeTheEndIsTheOutcome) {
  Build([](KernelContext&, Done) { throw std::runtime_error("bad plan"); });
  for (int i = 0; i < kRuns; ++i) {
    const absl::Status status = Run();
    EXPECT_THAT(status, IsError(ErrorCode::kKernelException, "bad plan"));
    EXPECT_THAT(status, IsError(ErrorCode::kKernelException, "Neg '"));
  }
}

TEST_P(AsyncKernelsTest, WhatIsThrownAfterTheEndIsLogged) {
  Build([](KernelContext& context, Done done) {
    Negate(context);
    done(absl::OkStatus());
    throw std::runtime_error("too late");
  });
  for (int i = 0; i < kRuns; ++i) ExpectSum();
  LeaveKernels();
  ASSERT_EQ(log_.lines().size(), size_t{kCalls * kRuns});
  EXPECT_TRUE(absl::StrContains(log_.lines().back(), "too late")) << log_.lines().back();
}

TEST_P(AsyncKernelsTest, WhoHasTheCallbackMayEndTheCallOfAKernelThatThrows) {
  Mutex mu;
  std::vector<std::thread> threads;
  Build([&](KernelContext& context, Done done) {
    MutexLock lock(&mu);
    threads.emplace_back([&context, done = std::move(done)]() mutable {
      Negate(context);
      done(absl::OkStatus());
    });
    throw std::runtime_error("somebody else goes on");
  });
  for (int i = 0; i < kRuns; ++i) ExpectSum();
  LeaveKernels();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(threads.size(), size_t{kCalls * kRuns});
}

TEST_P(AsyncKernelsTest, ACallbackThatIsDroppedIsAnError) {
  Build([](KernelContext& context, Done) { Negate(context); });
  for (int i = 0; i < kRuns; ++i) EXPECT_THAT(Run(), IsError(ErrorCode::kOutputMissing, "Neg '"));
}

TEST_P(AsyncKernelsTest, ACallbackThatAnotherThreadDropsIsAnError) {
  Mutex mu;
  std::vector<std::thread> threads;
  Build([&](KernelContext&, Done done) {
    MutexLock lock(&mu);
    threads.emplace_back([done = std::move(done)]() mutable { const Done dropped = std::move(done); });
  });
  for (int i = 0; i < kRuns; ++i) EXPECT_THAT(Run(), IsError(ErrorCode::kOutputMissing, "dropped"));
  LeaveKernels();
  for (std::thread& thread : threads) thread.join();
}

TEST_P(AsyncKernelsTest, TheSecondCallOfACallbackIsLogged) {
  Build([](KernelContext& context, Done done) {
    Negate(context);
    done(absl::OkStatus());
    done(absl::InternalError("once more"));
  });
  for (int i = 0; i < kRuns; ++i) ExpectSum();
  LeaveKernels();
  ASSERT_EQ(log_.lines().size(), size_t{kCalls * kRuns});
  EXPECT_TRUE(absl::StrContains(log_.lines().back(), "once more")) << log_.lines().back();
}

TEST_P(AsyncKernelsTest, NoneBeginsInARunThatWasCancelled) {
  std::atomic<int> too_late{0};
  CancellationManager cancellation;
  const auto cancel = [&](KernelContext& context) {
    cancellation.StartCancel();
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  };
  ASSERT_OK(harness_->registry().Add(OwnedKernelRow("Abs", MakeFunction(cancel, CostHint::kCheap))));
  Output x = b_.Const("x", Tensor::Scalar(1.0f));
  for (int i = 0; i < 8; ++i) x = b_.Op("Identity", "", {x});
  b_.Op("Abs", "cancels", {x});
  // Queued before, and too small for anybody to wake helpers for them.
  hint_ = CostHint::kByBytes;
  Build([&](KernelContext& context, Done done) {
    too_late += cancellation.IsCancelling();
    Negate(context);
    done(absl::OkStatus());
  });
  Executor::Args args = harness_->args();
  args.task_runner = pool_.get();
  args.cancellation = &cancellation;
  EXPECT_THAT(harness_->executor().Run(args), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(too_late, 0);
}

INSTANTIATE_TEST_SUITE_P(All, AsyncKernelsTest,
                         testing::Values(AsyncCase{1, CostHint::kCheap}, AsyncCase{2, CostHint::kCheap},
                                         AsyncCase{2, CostHint::kHeavy}, AsyncCase{8, CostHint::kHeavy},
                                         AsyncCase{1, CostHint::kCheap, Driver::kSerial},
                                         AsyncCase{8, CostHint::kHeavy, Driver::kSerial}));

}  // namespace
}  // namespace sluice

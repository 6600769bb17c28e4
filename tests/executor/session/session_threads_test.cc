// Threads of steps: runs that one step's kernels set free, steps inside of kernels, small pools.

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "executor/compiled/local_executor.h"
#include "executor/executor.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/mutex.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);

thread_local int kernels_on_stack = 0;

class SessionThreadsTest : public SessionFixture {
 protected:
  SessionThreadsTest() { RegisterAllKernels(kernels_); }

  void Replace(const char* op, std::function<void(KernelContext&)> function) {
    const auto kernel = [function = std::move(function)](KernelContext& context) {
      ++kernels_on_stack;
      function(context);
      --kernels_on_stack;
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    };
    ASSERT_OK(kernels_.Add(OwnedKernelRow(op, MakeFunction(kernel, CostHint::kHeavy))));
  }
  SessionOptions Options() {
    SessionOptions options;
    options.kernels = &kernels_;
    return options;
  }

  KernelRegistry kernels_;
};

// ---- The `done` of another run, which a kernel sets free ----

struct OuterCase {
  Driver driver;
  int num_threads;
};

class FreedRunTest : public SessionThreadsTest, public testing::WithParamInterface<OuterCase> {
 protected:
  // Runs of `other` wait for a value, which a kernel of this session's "end" sends.
  void OpenWith(ExecutorHarness& other) {
    GraphBuilder b(NewOpRegistry());
    GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs("x");
    attrs.emplace_back("tensor_type", DType::kFloat);
    b.Op("_Recv", "recv", {}, attrs);
    ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
    ASSERT_OK(other.Build(std::move(graph)));
    Replace("Neg", [&](KernelContext&) { EXPECT_OK(other.Send("x", Tensor::Scalar(1.0f))); });
    b_.Op("Abs", "end", {b_.Op("Neg", "sends", {b_.Placeholder("x", DType::kInt32)})});
    SessionOptions options = Options();
    options.driver = GetParam().driver;
    options.num_threads = GetParam().num_threads;
    Open(options);
  }
};

TEST_P(FreedRunTest, ItsDoneIsNotCalledInsideOfTheKernel) {
  ExecutorHarness other;
  ASSERT_NO_FATAL_FAILURE(OpenWith(other));
  ThreadPool pool(ThreadPoolOptions{2});
  for (TaskRunner* const threads : {static_cast<TaskRunner*>(nullptr), static_cast<TaskRunner*>(&pool)}) {
    other.NewRendezvous();
    Executor::Args args = other.args();
    args.task_runner = threads;
    Notification over;
    other.executor().RunAsync(args, [&](const absl::Status& status) {
      EXPECT_EQ(kernels_on_stack, 0);
      EXPECT_OK(status);
      over.Notify();
    });
    ExpectFetch("end", 3, {{"x", Int(-3)}});
    EXPECT_TRUE(over.WaitForNotificationWithTimeout(kLong));
  }
}

// A `done` that waits for the run that its own run has set free, which has no threads.
TEST_P(FreedRunTest, ADoneMayWaitForIt) {
  ExecutorHarness other;
  ASSERT_NO_FATAL_FAILURE(OpenWith(other));
  Notification over, outer_over;
  other.executor().RunAsync(other.args(), [&](const absl::Status& status) {
    EXPECT_OK(status);
    over.Notify();
  });
  session_->RunAsync({{"x", Int(-3)}}, {"end"}, {}, {}, [&](const absl::StatusOr<std::vector<Tensor>>& values) {
    EXPECT_OK(values);
    BeforeWaiting();
    EXPECT_TRUE(over.WaitForNotificationWithTimeout(kLong));
    outer_over.Notify();
  });
  EXPECT_TRUE(outer_over.WaitForNotificationWithTimeout(2 * kLong));
}

INSTANTIATE_TEST_SUITE_P(Outer, FreedRunTest,
                         testing::Values(OuterCase{Driver::kSerial, 1}, OuterCase{Driver::kSerial, 2},
                                         OuterCase{Driver::kDataflow, 1}, OuterCase{Driver::kDataflow, 2}));

// A run with threads that a serial step sets free does not wait for the step's end.
TEST_F(SessionThreadsTest, ARunThatASerialStepSetsFreeGoesOnMeanwhile) {
  ExecutorHarness other;
  GraphBuilder b(NewOpRegistry());
  GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs("x");
  attrs.emplace_back("tensor_type", DType::kFloat);
  b.Op("_Recv", "recv", {}, attrs);
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK(other.Build(std::move(graph)));
  Notification over;
  Replace("Neg", [&](KernelContext&) { EXPECT_OK(other.Send("x", Tensor::Scalar(1.0f))); });
  Replace("Abs", [&](KernelContext&) { EXPECT_TRUE(over.WaitForNotificationWithTimeout(kLong)); });
  b_.Op("Abs", "waits", {b_.Op("Neg", "sends", {b_.Placeholder("x", DType::kInt32)})});
  SessionOptions options = Options();
  options.driver = Driver::kSerial;
  Open(options);
  ThreadPool pool(ThreadPoolOptions{2});
  Executor::Args args = other.args();
  args.task_runner = &pool;
  other.executor().RunAsync(args, [&](const absl::Status&) { over.Notify(); });
  ExpectFetch("waits", 7, {{"x", Int(7)}});
}

// ---- Runs that a kernel starts ----

// With what its own run was given: the manager of the session, perhaps.
TEST_F(SessionThreadsTest, AnErrorOfARunThatAKernelStartsIsTheKernelsAlone) {
  ASSERT_OK(kernels_.Add(OwnedKernelRow(
      "Sign", MakeFunction([](KernelContext&) -> absl::Status { return absl::DataLossError("inner"); }))));
  GraphBuilder inner_builder(NewOpRegistry());
  inner_builder.Op("Sign", "", {inner_builder.Const("one", Int(1))});
  CpuDevice device(absl::StrCat(kLocalTask, "/device:CPU:7"), 1);
  LocalExecutorParams params;
  params.device = &device;
  params.registry = &kernels_;
  for (const Driver inner_driver : {Driver::kSerial, Driver::kDataflow}) {
    params.driver = inner_driver;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Executor> inner, NewLocalExecutor(params, inner_builder.graph()));
    KernelRegistry kernels;
    RegisterAllKernels(kernels);
    absl::Status outcome;
    bool fails = false;
    const auto call = [&](KernelContext& context) -> absl::Status {
      Executor::Args args;
      static_cast<RunContext&>(args) = context.run();
      outcome = inner->Run(args);
      context.SetOutput(0, context.TakeInput(0));
      return fails ? outcome : absl::OkStatus();
    };
    ASSERT_OK(kernels.Add(OwnedKernelRow("Neg", MakeFunction(call, CostHint::kHeavy))));
    GraphBuilder builder(NewOpRegistry());
    builder.Op("Abs", "y", {builder.Op("Neg", "", {builder.Placeholder("x", DType::kInt32)})});
    for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
      SessionOptions options;
      options.driver = driver;
      options.kernels = &kernels;
      options.num_threads = 1;
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, builder.graph()));
      for (const bool is_handled : {true, false, true}) {
        fails = !is_handled;
        const absl::StatusOr<std::vector<Tensor>> values = session->Run({{"x", Int(-2)}}, {"y"}, {});
        EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kDataLoss, "inner"));
        EXPECT_EQ(values.ok(), is_handled) << values.status();
      }
    }
  }
}

// ---- Cut steps ----

// Two parts, each with a kernel that ends when the other's has begun: the thread that waits for the step is one of the
// two that the pool gives.
TEST_F(SessionThreadsTest, TheCallerOfACutStepWorksOnOneOfItsParts) {
  std::atomic<int> inside{0};
  Notification both;
  Replace("Neg", [&](KernelContext&) {
    if (inside.fetch_add(1) + 1 == 2) both.Notify();
    EXPECT_TRUE(both.WaitForNotificationWithTimeout(kLong)) << "one part runs after the other";
  });
  const Output x = b_.Placeholder("x", DType::kInt32);
  for (int i = 0; i < 2; ++i) {
    // Each part waits for a value of the other's first: none begins on the thread that starts it.
    const Output there = b_.Op("Identity", "", {x});
    b_.SetDevice(there, i == 0 ? "/device:CPU:1" : "/device:CPU:0");
    const Output meets = b_.Op("Neg", i == 0 ? "a" : "b", {there});
    b_.SetDevice(meets, i == 0 ? "/device:CPU:0" : "/device:CPU:1");
  }
  SessionOptions options = Options();
  options.num_threads = 2;
  options.num_cpu_devices = 2;
  options.cut_by_device = true;
  Open(options);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, session_->Run({{"x", Int(5)}}, {"a", "b"}, {}));
  for (const Tensor& value : values) EXPECT_EQ(*value.AsScalar<int32_t>(), 5);
}

// A step inside of a kernel, whose parts free each other on the thread that waits for it.
TEST_F(SessionThreadsTest, ACutStepMayRunInsideOfAKernel) {
  for (const int inner_threads : {1, 2}) {
    for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
      GraphBuilder inner_builder(NewOpRegistry());
      Output last = inner_builder.Placeholder("x", DType::kInt32);
      for (int i = 0; i < 20; ++i) {
        last = inner_builder.Op("Abs", i == 19 ? "y" : "", {last});
        inner_builder.SetDevice(last, i % 2 == 0 ? "/device:CPU:0" : "/device:CPU:1");
      }
      SessionOptions cut;
      cut.num_threads = inner_threads;
      cut.num_cpu_devices = 2;
      cut.cut_by_device = true;
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> inner, Session::Create(cut, inner_builder.graph()));
      KernelRegistry kernels;
      RegisterAllKernels(kernels);
      const auto call = [&](KernelContext& context) -> absl::Status {
        SLUICE_ASSIGN_OR_RETURN(std::vector<Tensor> values, inner->Run({{"x", context.TakeInput(0)}}, {"y"}, {}));
        context.SetOutput(0, std::move(values[0]));
        return absl::OkStatus();
      };
      ASSERT_OK(kernels.Add(OwnedKernelRow("Neg", MakeFunction(call))));
      GraphBuilder outer_builder(NewOpRegistry());
      outer_builder.Op("Neg", "n", {outer_builder.Placeholder("x", DType::kInt32)});
      SessionOptions options;
      options.driver = driver;
      options.kernels = &kernels;
      options.num_threads = 1;
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> outer, Session::Create(options, outer_builder.graph()));
      CallOptions call_options;
      call_options.deadline = absl::Now() + kLong;
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, outer->Run({{"x", Int(-4)}}, {"n"}, {}, call_options));
      EXPECT_EQ(*values[0].AsScalar<int32_t>(), 4);
    }
  }
}

TEST_F(SessionThreadsTest, ADeadlineThatPassesInTheLastKernelOfACutStepCounts) {
  absl::Time deadline = absl::InfiniteFuture();
  Replace("Neg", [&](KernelContext&) {
    while (deadline != absl::InfiniteFuture() && absl::Now() <= deadline) {
    }
  });
  const Output first = b_.Op("Identity", "", {b_.Placeholder("x", DType::kInt32)});
  b_.SetDevice(first, "/device:CPU:0");
  b_.SetDevice(b_.Op("Neg", "late", {first}), "/device:CPU:1");
  for (const int threads : {1, 2}) {
    SessionOptions options = Options();
    options.num_threads = threads;
    options.num_cpu_devices = 2;
    options.cut_by_device = true;
    Open(options);
    CallOptions call;
    call.deadline = deadline = absl::Now() + absl::Milliseconds(10);
    EXPECT_THAT(Fetch("late", {{"x", Int(1)}}, call), IsError(ErrorCode::kDeadline));
    deadline = absl::InfiniteFuture();
    ExpectFetch("late", 1, {{"x", Int(1)}});
  }
}

// One part fails, but is not over yet when the other one has failed in its turn, since it was told to stop.
TEST_F(SessionThreadsTest, TheFirstErrorOfACutStepIsItsOutcome) {
  Notification* lingers = nullptr;
  Notification* follows = nullptr;
  Notification* has_followed = nullptr;
  const auto wait_for = [](Notification* event) { EXPECT_TRUE(event->WaitForNotificationWithTimeout(kLong)); };
  ASSERT_OK(kernels_.Add(OwnedKernelRow("Neg", MakeFunction(
                                                   [&](KernelContext&) -> absl::Status {
                                                     wait_for(lingers);
                                                     wait_for(follows);
                                                     return absl::DataLossError("first");
                                                   },
                                                   CostHint::kHeavy))));
  Replace("Sign", [&](KernelContext&) {
    lingers->Notify();
    wait_for(has_followed);
    absl::SleepFor(absl::Milliseconds(5));  // Until the other part has said so; nothing depends on it.
  });
  ASSERT_OK(kernels_.Add(OwnedKernelRow("Abs", MakeFunction(
                                                   [&](KernelContext& context) -> absl::Status {
                                                     follows->Notify();
                                                     const absl::Time give_up = absl::Now() + kLong;
                                                     while (!context.IsCancelled() && absl::Now() < give_up) {
                                                     }
                                                     has_followed->Notify();
                                                     return absl::InternalError("second");
                                                   },
                                                   CostHint::kHeavy))));
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.SetDevice(b_.Op("Neg", "fails", {x}), "/device:CPU:0");
  b_.SetDevice(b_.Op("Sign", "lingers", {x}), "/device:CPU:0");
  b_.SetDevice(b_.Op("Abs", "follows", {x}), "/device:CPU:1");
  SessionOptions options = Options();
  options.num_threads = 4;
  options.num_cpu_devices = 2;
  options.cut_by_device = true;
  Open(options);
  for (int run = 0; run < 5; ++run) {
    Notification lingering, following, followed;
    lingers = &lingering;
    follows = &following;
    has_followed = &followed;
    EXPECT_THAT(session_->Run({{"x", Int(1)}}, {"fails", "lingers", "follows"}, {}),
                StatusIs(absl::StatusCode::kDataLoss, "first"));
  }
}

// ---- A pool of one ----

// A kernel that leaves its work to the pool, whose caller waits.
TEST_F(SessionThreadsTest, WhatAKernelSchedulesOnAPoolOfOneRuns) {
  class Offloads final : public AsyncKernel {
   public:
    void ComputeAsync(KernelContext& context, Done done) const override {
      context.run().task_runner->Schedule([&context, done = std::move(done)]() mutable {
        context.SetOutput(0, context.TakeInput(0));
        done(absl::OkStatus());
      });
    }
  };
  ASSERT_OK(
      kernels_.Add(OwnedKernelRow("Neg", [](const KernelConstruction&) { return std::make_unique<Offloads>(); })));
  b_.Op("Neg", "n", {b_.Op("Neg", "", {b_.Placeholder("x", DType::kInt32)})});
  SessionOptions options = Options();
  options.pools = {{1, "session_threads_test"}};
  Open(options);
  CallOptions call;
  call.pool = 1;
  call.deadline = absl::Now() + kLong;
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(const Tensor value, Fetch("n", {{"x", Int(i)}}, call));
    EXPECT_EQ(*value.AsScalar<int32_t>(), i);
  }
}

}  // namespace
}  // namespace sluice

// Every allocation of a run fails once, and then from one on all of them: the run ends, with kOutOfMemory or well; the
// next one is right; nothing is lost. Of runs only: model_failures_test loads and prepares.
//
// Sanitizers have an operator new of their own: there the steps run, and nothing fails.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "executor/session/rendezvous_pool.h"
#include "executor/session/session.h"
#include "executor/threads/thread_pool.h"
#include "graph/base/as_status.h"
#include "graph/base/cancellation.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"
#include "rendezvous/key.h"
#include "rendezvous/local_rendezvous.h"
#include "tests/executor/failing_allocations.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/executor_harness.h"
#include "tests/testing/function_kernel.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// ---- The dataflow driver ----

enum class Threads { kNone, kPool, kRunner };

struct ExecutorCase {
  Threads threads;
  bool is_async;
  Driver driver = Driver::kDataflow;
};

class ExecutorAllocationsTest : public testing::TestWithParam<ExecutorCase> {
 protected:
  ExecutorAllocationsTest() {
    // An asynchronous kernel whose callback is called by another thread, or dropped where there is no memory for one.
    EXPECT_OK(harness_->registry().Add(
        OwnedKernelRow("Sqrt", [](const KernelConstruction&) { return std::make_unique<Offloads>(); })));
    const auto negate = [](KernelContext& context) {
      context.SetOutput(0, Tensor::Scalar(-context.TakeInput(0).flat<float>()[0]));
      return absl::OkStatus();
    };
    EXPECT_OK(harness_->registry().Add(OwnedKernelRow("Neg", MakeFunction(negate, CostHint::kHeavy))));
    EXPECT_OK(harness_->registry().Add(OwnedKernelRow("Abs", MakeFunction(negate, CostHint::kCheap))));
  }
  // Negates its input, on a thread of the run's if it has several.
  class Offloads final : public AsyncKernel {
   public:
    void ComputeAsync(KernelContext& context, Done done) const override {
      auto end = [&context, done = std::move(done)]() mutable {
        context.SetOutput(0, Tensor::Scalar(-context.TakeInput(0).flat<float>()[0]));
        done(absl::OkStatus());
      };
      if (context.run().task_runner == nullptr) return end();
      context.run().task_runner->Schedule(std::move(end));
    }
    CostHint cost_hint() const override { return CostHint::kHeavy; }
  };

  // The sum of `count` nodes of `op`, which reads 1.
  void AddFan(const char* op, int count) {
    const Output one = b_.Op("Identity", "", {b_.Const("", Tensor::Scalar(1.0f))});
    std::vector<Output> all;
    for (int i = 0; i < count; ++i) all.push_back(b_.Op(op, "", {b_.Op(op, "", {b_.Op(op, "", {one})})}));
    Return(b_.Op("AddN", "", all));
  }
  void Return(const Output& value) { b_.Op("_Retval", "", {value}, {{"index", int64_t{0}}}); }

  void ExpectResult(float expected) {
    const int64_t bytes_before = HostAllocatorLiveBytes();
    ASSERT_OK(b_.status());
    ASSERT_OK(harness_->Build(b_.graph(), "", GetParam().driver));
    // Runs of a warm executor allocate little; the first one of each executor, everything.
    for (const bool is_cold : {false, true}) {
      const auto prepare = [&] {
        return is_cold ? harness_->Build(b_.graph(), "", GetParam().driver) : absl::OkStatus();
      };
      ThreadPool pool(ThreadPoolOptions{3});
      const Runner runner = [&pool](absl::AnyInvocable<void()> work) { pool.Schedule(std::move(work)); };
      FailEachAllocation(
          [&]() -> absl::Status {
            harness_->NewRendezvous();
            VectorCallFrame frame({}, 1);
            CancellationManager cancellation;
            Executor::Args args = harness_->args();
            args.call_frame = &frame;
            args.cancellation = &cancellation;
            args.deadline = absl::Now() + absl::Hours(1);
            if (GetParam().threads == Threads::kPool) args.task_runner = &pool;
            if (GetParam().threads == Threads::kRunner) args.runner = &runner;
            const Executor& executor = harness_->executor();
            SLUICE_RETURN_IF_ERROR(GetParam().is_async ? RunToDone(executor, args) : executor.Run(args));
            const Tensor& result = frame.results()[0];
            return Expect(result.has_value() && result.flat<float>()[0] == expected, "wrong result");
          },
          prepare);
    }
    b_ = GraphBuilder(NewOpRegistry());
    harness_.reset();
    EXPECT_EQ(HostAllocatorLiveBytes(), bytes_before);
  }

  const LeakCheck leak_check_;  // The last to go.
  GraphBuilder b_{NewOpRegistry()};
  std::unique_ptr<ExecutorHarness> harness_ = std::make_unique<ExecutorHarness>();
};

TEST_P(ExecutorAllocationsTest, InlineKernels) {
  AddFan("Abs", 12);
  ExpectResult(-12);
}

TEST_P(ExecutorAllocationsTest, QueuedKernels) {
  AddFan("Neg", 12);
  ExpectResult(-12);
}

TEST_P(ExecutorAllocationsTest, AsynchronousKernels) {
  AddFan("Sqrt", 12);
  ExpectResult(-12);
}

// In a chain, beside work of their own, and behind a condition.
TEST_P(ExecutorAllocationsTest, WaitsAfterOneAnother) {
  const Output one = b_.Op("Identity", "", {b_.Const("", Tensor::Scalar(1.0f))});
  Output x = one;
  for (int i = 0; i < 6; ++i) x = b_.Op("Add", "", {b_.Op("Sqrt", "", {b_.Op("Abs", "", {x})}), one});
  const Output ports = b_.Op("Switch", "", {x, b_.Op("Less", "", {x, one})});
  const Output merged =
      b_.Op("Merge", "", {b_.Op("Sqrt", "", {ports}), b_.Op("Abs", "", {GraphBuilder::Nth(ports, 1)})});
  Return(b_.Op("Add", "", {merged, x}));
  ExpectResult(0);
}

TEST_P(ExecutorAllocationsTest, ALoop) {
  const auto enter = [&](const Output& value, bool is_constant) {
    return b_.Op("Enter", "", {value}, {{"frame_name", "loop"}, {"is_constant", is_constant}});
  };
  const Output limit = enter(b_.Const("limit", Tensor::Scalar(40.0f)), true);
  const Output one = enter(b_.Const("one", Tensor::Scalar(1.0f)), true);
  const Output first = enter(b_.Op("Identity", "", {b_.Const("zero", Tensor::Scalar(0.0f))}), false);
  const Output merge = b_.Op("Merge", "", {first, first});
  const Output cond = b_.Op("LoopCond", "", {b_.Op("Less", "", {merge, limit})});
  const Output ports = b_.Op("Switch", "", {merge, cond});
  const Output body = b_.Op("Neg", "", {b_.Op("Neg", "", {GraphBuilder::Nth(ports, 1)})});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "", {b_.Op("Add", "", {body, one})}));
  Return(b_.Op("Exit", "", {ports}));
  ExpectResult(40);
}

TEST_P(ExecutorAllocationsTest, ARendezvous) {
  std::vector<Output> all;
  for (int i = 0; i < 12; ++i) {
    const std::string name = std::to_string(i);
    GraphBuilder::Attrs attrs = ExecutorHarness::TransferAttrs(name);
    const Output one = b_.Op("Neg", "", {b_.Const("", Tensor::Scalar(1.0f))});
    b_.Op("_Send", "send" + name, {one}, attrs);
    attrs.emplace_back("tensor_type", DType::kFloat);
    all.push_back(b_.Op("_Recv", "recv" + name, {}, attrs));
  }
  Return(b_.Op("AddN", "", all));
  ExpectResult(-12);
}

INSTANTIATE_TEST_SUITE_P(All, ExecutorAllocationsTest,
                         testing::Values(ExecutorCase{Threads::kNone, false}, ExecutorCase{Threads::kNone, true},
                                         ExecutorCase{Threads::kPool, false}, ExecutorCase{Threads::kPool, true},
                                         ExecutorCase{Threads::kRunner, false}, ExecutorCase{Threads::kRunner, true},
                                         ExecutorCase{Threads::kNone, false, Driver::kSerial},
                                         ExecutorCase{Threads::kNone, true, Driver::kSerial},
                                         ExecutorCase{Threads::kPool, false, Driver::kSerial},
                                         ExecutorCase{Threads::kPool, true, Driver::kSerial},
                                         ExecutorCase{Threads::kPool, true, Driver::kAuto},
                                         ExecutorCase{Threads::kRunner, false, Driver::kSerial},
                                         ExecutorCase{Threads::kRunner, true, Driver::kSerial}));

// Whatever others wait for hears of a run that could not begin.
TEST(FailedBeginTest, AbortsAndCancels) {
  ExecutorHarness harness;
  GraphBuilder b(NewOpRegistry());
  b.Op("Identity", "", {b.Const("", Tensor::Scalar(1.0f))});
  ASSERT_OK_AND_ASSIGN(Graph graph, b.Build());
  ASSERT_OK(harness.Build(std::move(graph)));
  for (const bool is_async : {false, true}) {
    CancellationManager cancellation;
    Executor::Args args = harness.args();
    args.cancellation = &cancellation;
    FailNewCall(1);
    const absl::Status status = is_async ? RunToDone(harness.executor(), args) : harness.executor().Run(args);
    const bool has_failed = HasFailedNewCall();
    FailNewCall(0);
#ifdef SLUICE_COUNTS_NEW
    ASSERT_TRUE(has_failed);
#endif
    EXPECT_EQ(status.ok(), !has_failed);
    EXPECT_EQ(IsShortOfMemory(cancellation.status()), has_failed);
    EXPECT_EQ(harness.Send("x", Tensor::Scalar(1.0f)).ok(), !has_failed);
    harness.NewRendezvous();
  }
}

// ---- Sessions ----

struct SessionCase {
  Driver driver;
  int num_threads;
  bool is_cut;
};

class SessionAllocationsTest : public testing::TestWithParam<SessionCase> {
 protected:
  SessionOptions Options() const {
    SessionOptions options;
    options.driver = GetParam().driver;
    options.num_threads = GetParam().num_threads;
    options.num_cpu_devices = 2;
    options.cut_by_device = GetParam().is_cut;
    return options;
  }
  // y = 20 times -x + 1, on two devices in turn.
  void AddChain() {
    Output last = b_.Placeholder("x", DType::kFloat, PartialShape::Scalar());
    const Output one = b_.Const("one", Tensor::Scalar(1.0f));
    for (int i = 0; i < 20; ++i) {
      last = b_.Op("Neg", "", {last});
      b_.SetDevice(last, i % 2 == 0 ? "/device:CPU:0" : "/device:CPU:1");
      last = b_.Op("AddV2", i == 19 ? "y" : "", {last, one});
      b_.SetDevice(last, i % 2 == 0 ? "/device:CPU:1" : "/device:CPU:0");
    }
  }
  static absl::Status CheckY(const Tensor& y) {
    return Expect(y.has_value() && *y.AsScalar<float>() == 3.0f, "wrong result");
  }

  const LeakCheck leak_check_;  // The last to go.
  GraphBuilder b_{NewOpRegistry()};
  const Tensor x_ = Tensor::Scalar(3.0f);
};

TEST_P(SessionAllocationsTest, Runs) {
  AddChain();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(Options(), b_.graph()));
  FailEachAllocation([&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> values, session->Run({{"x", x_}}, {"y"}, {}));
    return CheckY(values[0]);
  });
}

TEST_P(SessionAllocationsTest, CallsWithADeadline) {
  AddChain();
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(Options(), b_.graph()));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> callable, session->Prepare({{"x"}, {"y"}, {}, {}}));
  FailEachAllocation([&]() -> absl::Status {
    Tensor in[] = {x_}, out[1];
    CancellationManager cancellation;
    CallOptions options;
    options.deadline = absl::Now() + absl::Hours(1);
    options.cancellation = &cancellation;
    SLUICE_RETURN_IF_ERROR(callable->Run(absl::MakeSpan(in), absl::MakeSpan(out), options));
    return CheckY(out[0]);
  });
}

// A node that ends when a node of another part has run, or the step is cancelled: no rendezvous tells it. One run's at
// a time. Thread-safe.
class Meeting {
 public:
  class Waits final : public AsyncKernel {
   public:
    explicit Waits(Meeting& meeting) : meeting_(meeting) {}
    void ComputeAsync(KernelContext& context, Done done) const override {
      context.SetOutput(0, context.TakeInput(0));
      meeting_.Wait(*context.run().cancellation, std::move(done));
    }

   private:
    Meeting& meeting_;
  };

  void Reset() {
    MutexLock lock(&mu_);
    is_open_ = false;
  }
  void Open() { End(absl::OkStatus()); }

 private:
  void Wait(CancellationManager& cancellation, AsyncKernel::Done done) {
    absl::Status outcome;
    {
      MutexLock lock(&mu_);
      if (!is_open_) {
        // Steps that can throw come first.
        if (cancellation.RegisterCallback(cancellation.NewToken(), [this] { End(cancelled_); })) {
          done_ = std::move(done);
          return;
        }
        outcome = cancelled_;
      }
    }
    done(outcome);
  }
  void End(const absl::Status& status) {
    AsyncKernel::Done done;
    {
      MutexLock lock(&mu_);
      is_open_ = true;
      if (done_ == nullptr) return;
      done = std::move(done_);
      done_ = nullptr;
    }
    done(status);
  }

  const absl::Status cancelled_ = absl::CancelledError("told to stop");
  Mutex mu_;
  bool is_open_ ABSL_GUARDED_BY(mu_) = false;
  AsyncKernel::Done done_ ABSL_GUARDED_BY(mu_);
};

TEST_P(SessionAllocationsTest, APartThatListensToTheManagerOnly) {
  if (!GetParam().is_cut) return;
  Meeting meeting;
  KernelRegistry kernels;
  RegisterAllKernels(kernels);
  ASSERT_OK(kernels.Add(
      OwnedKernelRow("Neg", [&](const KernelConstruction&) { return std::make_unique<Meeting::Waits>(meeting); })));
  const auto open = [&](KernelContext& context) {
    meeting.Open();
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  };
  ASSERT_OK(kernels.Add(OwnedKernelRow("Abs", MakeAsyncFunction(open))));  // Parts of waiting kernels are not serial.
  const Output x = b_.Const("x", Tensor::Scalar(3.0f));  // No value is transferred: the rendezvous calls no callback.
  b_.SetDevice(x, "/device:CPU:1");
  b_.SetDevice(b_.Op("Neg", "waits", {b_.Const("one", Tensor::Scalar(1.0f))}), "/device:CPU:0");
  b_.SetDevice(b_.Op("Abs", "opens", {x}), "/device:CPU:1");
  SessionOptions options = Options();
  options.kernels = &kernels;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, b_.graph()));
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const Callable> f, session->Prepare({{}, {"waits"}, {"opens"}, {}}));
  for (const bool is_async : {false, true}) {
    const auto run = [&]() -> absl::Status {
      Tensor out[1];
      if (!is_async) return f->Run({}, absl::MakeSpan(out));
      absl::Status outcome;
      Notification over;
      f->RunAsync({}, absl::MakeSpan(out), {}, [&](absl::Status status) {
        outcome = std::move(status);
        over.Notify();
      });
      over.WaitForNotification();
      return outcome;
    };
    FailEachAllocation(run, [&] {
      meeting.Reset();
      return absl::OkStatus();
    });
  }
}

TEST_P(SessionAllocationsTest, PartialRuns) {
  if (GetParam().driver == Driver::kSerial) return;  // A partial run is never serial.
  AddChain();
  b_.Op("Neg", "z", {b_.Placeholder("w", DType::kFloat, PartialShape::Scalar())});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(Options(), b_.graph()));
  std::string handle;
  const auto set_up = [&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(handle, session->PRunSetup({{"x", "w"}, {"y", "z"}, {}, {}}));
    return absl::OkStatus();
  };
  const auto run = [&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> y, session->PRun(handle, {{"x", x_}}, {"y"}));
    SLUICE_RETURN_IF_ERROR(CheckY(y[0]));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> z, session->PRun(handle, {{"w", x_}}, {"z"}));
    return Expect(*z[0].AsScalar<float>() == -3.0f, "wrong result");
  };
  FailEachAllocation(run, set_up);
}

#ifdef SLUICE_COUNTS_NEW
TEST(FailedKeepTest, ARendezvousThatCannotBeKeptGoes) {
  EdgeTable edges;
  RendezvousPool pool(edges);
  CountedPtr<LocalRendezvous> first = pool.Take();
  FailNewCall(1);
  pool.Put(std::move(first));
  const bool has_failed = HasFailedNewCall();
  FailNewCall(0);
  EXPECT_TRUE(has_failed);
  pool.Put(pool.Take());
}
#endif

// It has done nothing, and may be repeated, or it has ended the step: what it claims is not lost to a step that waits.
TEST_P(SessionAllocationsTest, ACallOfAPartialRunThatFailsDoesNothingOrEndsIt) {
  if (GetParam().driver == Driver::kSerial) return;  // A partial run is never serial.
  AddChain();
  SessionOptions options = Options();
  options.stall_timeout = absl::Hours(1);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, b_.graph()));
  std::string handle;
  const auto run = [&]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> y, session->PRun(handle, {{"x", x_}}, {"y"}));
    return CheckY(y[0]);
  };
  const auto set_up = [&]() -> absl::Status {
    if (session->num_partial_runs() > 0) {
      const absl::Status again = run();
      // On threads of its own the step may fail while this call does nothing; then the next call reports it.
      const bool has_failed_beside = GetParam().num_threads > 1 && IsShortOfMemory(again);
      if (!has_failed_beside) SLUICE_RETURN_IF_ERROR(again);
    }
    SLUICE_RETURN_IF_ERROR(Expect(session->num_partial_runs() == 0, "a step that is over has a handle"));
    SLUICE_ASSIGN_OR_RETURN(handle, session->PRunSetup({{"x"}, {"y"}, {}, {}}));
    return absl::OkStatus();
  };
  FailEachAllocation(run, set_up);
}

INSTANTIATE_TEST_SUITE_P(All, SessionAllocationsTest,
                         testing::Values(SessionCase{Driver::kSerial, 1, false},
                                         SessionCase{Driver::kDataflow, 1, false},
                                         SessionCase{Driver::kDataflow, 3, false}, SessionCase{Driver::kAuto, 1, true},
                                         SessionCase{Driver::kAuto, 3, true}));

}  // namespace
}  // namespace sluice

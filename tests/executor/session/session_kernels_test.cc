// What sessions do around kernels: which threads run them, what becomes of those that misbehave or will not end, and of
// memory.

#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include "absl/time/clock.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

// Sessions in which ops do what a test says.
class SessionKernelsTest : public SessionFixture {
 protected:
  SessionKernelsTest() { RegisterAllKernels(registry_); }

  void Make(const std::string& op, FunctionKernel::Function function) {
    ASSERT_OK(registry_.Add(OwnedKernelRow(op, MakeFunction(std::move(function), CostHint::kHeavy))));
  }
  SessionOptions Options(Driver driver = Driver::kAuto) const {
    SessionOptions options;
    options.kernels = &registry_;
    options.driver = driver;
    return options;
  }
  static absl::Status HandOn(KernelContext& context) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }

  KernelRegistry registry_;
};

TEST_F(SessionKernelsTest, ACallInTheCallersThreadUsesNoOther) {
  std::set<std::thread::id> threads;
  Mutex mu;
  Make("Neg", [&](KernelContext& context) {
    absl::SleepFor(absl::Microseconds(200));
    MutexLock lock(&mu);
    threads.insert(std::this_thread::get_id());
    return HandOn(context);
  });
  const Output x = b_.Placeholder("x", DType::kInt32);
  std::vector<Output> branches;
  for (int i = 0; i < 10; ++i) branches.push_back(b_.Op("Neg", absl::StrCat("n", i), {x}));
  b_.Op("AddN", "sum", {branches}, {{"T", DType::kInt32}, {"N", 10}});
  SessionOptions options = Options(Driver::kDataflow);
  options.num_threads = 4;
  Open(options);
  CallOptions call;
  call.pool = CallOptions::kCallerThread;
  for (int i = 0; i < 20; ++i) ASSERT_OK(Fetch("sum", {{"x", Int(1)}}, call));
  EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST_F(SessionKernelsTest, ABlockedSmallPoolKeepsNobodyElseWaiting) {
  Notification go;
  std::atomic<int> blocked{0};
  Make("Neg", [&](KernelContext& context) {
    ++blocked;
    go.WaitForNotification();
    return HandOn(context);
  });
  AddSimpleGraph();
  b_.Op("Neg", "slow", {Output{b_.graph().Find("z"), 0}});
  SessionOptions options = Options(Driver::kDataflow);
  options.pools = {{2, ""}, {3, ""}};
  Open(options);
  const auto choose = [](int pool) {
    CallOptions call;
    call.pool = pool;
    return call;
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] { EXPECT_OK(Fetch("slow", {{"x", Int(1)}}, choose(1))); });
  }
  while (blocked < 3) std::this_thread::yield();
  for (const int pool : {CallOptions::kCallerThread, 0, 1, 2}) EXPECT_OK(Fetch("z", {{"x", Int(1)}}, choose(pool)));
  go.Notify();
  for (std::thread& caller : callers) caller.join();
}

TEST_F(SessionKernelsTest, AKernelWithoutOutputsIsInternal) {
  Make("Neg", [](KernelContext&) { return absl::OkStatus(); });
  b_.Op("Neg", "darth", {b_.Placeholder("x", DType::kInt32)});
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    Open(Options(driver));
    EXPECT_THAT(Fetch("darth", {{"x", Int(1)}}), IsError(ErrorCode::kOutputMissing, "Neg 'darth'"));
    EXPECT_THAT(Fetch("darth", {{"x", Int(1)}}), StatusIs(absl::StatusCode::kInternal));
  }
}

TEST_F(SessionKernelsTest, AKernelThatThrowsOrGivesAnotherDTypeIsInternal) {
  Make("Neg", [](KernelContext& context) -> absl::Status {
    if (*context.input(0).AsScalar<int32_t>() == 0) throw std::runtime_error("bad plan");
    context.SetOutput(0, Tensor::Scalar(1.0f));
    return absl::OkStatus();
  });
  b_.Op("Neg", "darth", {b_.Placeholder("x", DType::kInt32)});
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    Open(Options(driver));
    EXPECT_THAT(Fetch("darth", {{"x", Int(0)}}), IsError(ErrorCode::kKernelException, "bad plan"));
    EXPECT_THAT(Fetch("darth", {{"x", Int(1)}}), IsError(ErrorCode::kOutputType, "Neg 'darth'"));
  }
}

TEST_F(SessionKernelsTest, WhatAKernelDoesToItsInputDoesNotReachTheCallersTensor) {
  Make("Neg", [](KernelContext& context) {
    Tensor taken = context.TakeInput(0);
    if (!taken.IsUniquelyOwned()) {
      SLUICE_ASSIGN_OR_RETURN(taken, taken.DeepCopy());
    }
    static_cast<int32_t*>(taken.mutable_raw_data())[0] = -1;
    context.SetOutput(0, std::move(taken));
    return absl::OkStatus();
  });
  b_.Op("Neg", "y", {b_.Placeholder("x", DType::kInt32)});
  const Tensor kept = Tensor::Vector<int32_t>(std::vector<int32_t>(100, 7));
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    Open(Options(driver));
    ASSERT_OK_AND_ASSIGN(const Tensor y, Fetch("y", {{"x", kept}}));
    EXPECT_EQ(y.flat<int32_t>()[0], -1);
    EXPECT_EQ(kept.flat<int32_t>()[0], 7);
  }
}

TEST_F(SessionKernelsTest, AKernelThatPollsHasEndedWhenItsRunReturnsLate) {
  std::atomic<int> running{0}, ended{0};
  Make("Neg", [&](KernelContext& context) {
    ++running;
    while (!context.IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    absl::SleepFor(absl::Milliseconds(20));  // It takes its time.
    ++ended;
    --running;
    return absl::Status(absl::CancelledError("stopped"));
  });
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.Op("AddV2", "sum", {b_.Op("Neg", "a", {x}), b_.Op("Neg", "b", {x})});
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    for (const int threads : {1, 2}) {
      SessionOptions options = Options(driver);
      options.operation_timeout = absl::Milliseconds(30);
      options.num_threads = threads;
      Open(options);
      ended = 0;
      EXPECT_THAT(Fetch("sum", {{"x", Int(1)}}), IsError(ErrorCode::kDeadline));
      EXPECT_EQ(running, 0);
      EXPECT_GE(ended, 1);
    }
  }
}

TEST_F(SessionKernelsTest, TheCauseOfACancellationIsTheAnswer) {
  Make("Neg", [&](KernelContext& context) {
    while (!context.IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return absl::Status(absl::CancelledError("a consequence"));
  });
  b_.Op("Neg", "n", {b_.Placeholder("x", DType::kInt32)});
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    Open(Options(driver));
    CancellationManager cancellation;
    CallOptions call;
    call.cancellation = &cancellation;
    std::thread canceller([&] { cancellation.StartCancelWithStatus(absl::UnavailableError("the client has gone")); });
    EXPECT_THAT(Fetch("n", {{"x", Int(1)}}, call), StatusIs(absl::StatusCode::kUnavailable, "the client has gone"));
    canceller.join();
  }
}

TEST_F(SessionKernelsTest, TheNodeThatFailsFirstIsNamedNotThoseThatItStops) {
  std::atomic<int> waiting{0};
  Make("Neg", [&](KernelContext& context) {
    ++waiting;
    while (!context.IsCancelled()) absl::SleepFor(absl::Microseconds(100));
    return absl::Status(absl::CancelledError("a consequence"));
  });
  Make("Abs", [&](KernelContext&) {
    while (waiting == 0) std::this_thread::yield();
    return absl::Status(absl::DataLossError("the cause"));
  });
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.SetDevice(b_.Op("Neg", "waits", {x}), "/device:CPU:0");
  b_.SetDevice(b_.Op("Abs", "fails", {x}), "/device:CPU:1");
  SessionOptions options = Options(Driver::kDataflow);
  options.num_cpu_devices = 2;
  options.cut_by_device = true;
  options.num_threads = 4;
  Open(options);
  for (int i = 0; i < 50; ++i) {
    waiting = 0;
    const absl::Status status = session_->Run({{"x", Int(1)}}, {"waits", "fails"}, {}).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, "Abs 'fails'"));
  }
}

TEST_F(SessionKernelsTest, MemoryIsAllGivenBackAndItsLimitIsAnError) {
  TrackingAllocator memory(HostAllocator());
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.Op("MatMul", "product", {b_.Op("Relu", "r", {x}), x});
  SessionOptions options = Options();
  options.allocator = &memory;
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    options.driver = driver;
    Open(options);
    ASSERT_OK_AND_ASSIGN(const Tensor big,
                         Tensor::Vector<float>(std::vector<float>(64 * 64, 1.0f)).Reshaped(Shape::Of({64, 64})));
    const int64_t before = memory.live_bytes();
    {
      ASSERT_OK_AND_ASSIGN(const Tensor product, Fetch("product", {{"x", big}}));
      EXPECT_GE(memory.peak_bytes(), before + 64 * 64 * 4);
    }
    EXPECT_EQ(memory.live_bytes(), before);
    memory.set_limit_bytes(1000);
    EXPECT_THAT(Fetch("product", {{"x", big}}), StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(memory.live_bytes(), before);
    memory.set_limit_bytes(TrackingAllocator::kNoLimit);
    EXPECT_OK(Fetch("product", {{"x", big}}));
  }
}

TEST_F(SessionKernelsTest, AnUnknownDeviceIsNamedUnlessItsNodeIsNotNeeded) {
  AddSimpleGraph();
  b_.SetDevice(b_.Op("Neg", "far", {Output{b_.graph().Find("z"), 0}}), "/device:CPU:7");
  b_.SetDevice(b_.Op("Abs", "odd", {Output{b_.graph().Find("z"), 0}}), "no device at all");
  Open();
  EXPECT_THAT(Fetch("far", {{"x", Int(1)}}), StatusIs(absl::StatusCode::kInvalidArgument, "far"));
  EXPECT_THAT(Fetch("odd", {{"x", Int(1)}}), StatusIs(absl::StatusCode::kInvalidArgument, "odd"));
  ExpectFetch("z", 4, {{"x", Int(1)}});
  SessionOptions soft;
  soft.allow_soft_placement = true;
  Open(soft);
  ExpectFetch("far", -4, {{"x", Int(1)}});
}

TEST_F(SessionKernelsTest, AFedVariableCannotBeAssigned) {
  AddCounter();
  Open();
  EXPECT_THAT(Fetch("start", {{"v", Int(1)}}), StatusIs(absl::StatusCode::kInvalidArgument, "start"));
}

}  // namespace
}  // namespace sluice

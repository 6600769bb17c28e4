// Runs on devices that work on their own, and that fail, are cancelled or are late: nothing of them works on when they
// end, nothing stays, and the session goes on.

#include <memory>

#include "absl/time/clock.h"
#include "graph/base/cancellation.h"
#include "kernels/kernel.h"
#include "kernels/owned_kernel_row.h"
#include "tests/executor/streams/streams_fixture.h"

namespace sluice {
namespace {

class StreamFailuresTest : public StreamsFixture {
 protected:
  // A chain over both devices and the host, with copies of every kind.
  void OpenChain(FakeDevice::Options options = {}) {
    options.staging_block_bytes = 1024;
    MakeDevices(options);
    Output y = b_.Placeholder("x", DType::kFloat);
    const char* const devices[] = {kGpu, kGpu, kOther, kCpu};
    for (int i = 0; i < 16; ++i) {
      b_.WithDevice(devices[i % 4]);
      y = b_.Op("AddV2", absl::StrCat("a", i), {y, b_.Const(absl::StrCat("c", i), Tensor::Scalar(1.0f))});
    }
    SessionOptions session;
    session.stall_timeout = absl::Seconds(20);
    Open(session);
  }
  // Many kernels on the device, one after the other. The nodes after it are on the CPU.
  Output AddWork(const Output& x) {
    b_.WithDevice(kGpu);
    Output y = x;
    for (int i = 0; i < 50; ++i) y = b_.Op("AddV2", absl::StrCat("a", i), {y, x});
    b_.WithDevice(kCpu);
    return y;
  }
  void ExpectRight() {
    ASSERT_OK_AND_ASSIGN(const Tensor y, Fetch("a15", {{"x", Floats(1000)}}));
    for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(y.flat<float>()[i], static_cast<float>(i) + 16);
  }
  // Whether all that was queued on the devices is done, but for what overwrites freed memory.
  bool IsIdle() {
    for (FakeDevice* const fake : devices_->fakes) {
      for (const StreamDevice::Use use : StreamDevice::kUses) {
        if (fake->stream(use).num_pending() > 0) return false;
      }
    }
    return true;
  }
};

// Each call of its kind fails once. A fault that comes after all calls leaves the run right.
TEST_F(StreamFailuresTest, WhateverFailsEndsTheRunAndNothingElse) {
  OpenChain();
  ExpectRight();  // Constants are there from now on.
  struct Kind {
    const char* name;
    std::atomic<int> FakeFaults::*fault;
    bool is_error;  // Events that cannot be recorded are waited for.
  };
  for (const Kind& kind : {Kind{"launch", &FakeFaults::launch, true}, Kind{"work", &FakeFaults::work, true},
                           Kind{"copy", &FakeFaults::copy, true}, Kind{"allocate", &FakeFaults::allocate, true},
                           Kind{"record", &FakeFaults::record, false}}) {
    int num_failed = 0;
    for (FakeDevice* const fake : devices_->fakes) {
      for (int call = 1; call <= 24; ++call) {
        SCOPED_TRACE(absl::StrCat(kind.name, " ", call, " of ", fake->name()));
        std::atomic<int>& fault = fake->faults().*kind.fault;
        fault = call;
        const absl::StatusOr<Tensor> y = Fetch("a15", {{"x", Floats(1000)}});
        const bool is_hit = fault.exchange(-1) <= 0;
        if (kind.is_error) {
          EXPECT_EQ(y.ok(), !is_hit) << y.status();
        }
        if (!y.ok()) ++num_failed;
        if (y.ok()) {
          EXPECT_EQ(y->flat<float>()[999], 1015);
        }
      }
    }
    if (kind.is_error) {
      EXPECT_GT(num_failed, 8) << kind.name;
    }
    ExpectRight();
  }
}

TEST_F(StreamFailuresTest, AnErrorOfTheDeviceNamesWhatFailed) {
  OpenChain();
  gpu().faults().work = 1;
  EXPECT_THAT(Fetch("a15", {{"x", Floats(10)}}), IsError(ErrorCode::kOpBroken, "a kernel has failed on the device"));
  gpu().faults().launch = 1;
  EXPECT_THAT(Fetch("a15", {{"x", Floats(10)}}), IsError(ErrorCode::kOpBroken, "the device takes no kernel"));
  gpu().faults().allocate = 1;
  EXPECT_THAT(Fetch("a15", {{"x", Floats(10)}}).status(), StatusIs(absl::StatusCode::kResourceExhausted));
}

// The kernel on the host fails while the device is at work.
TEST_F(StreamFailuresTest, AFailedRunEndsWhenTheDeviceIsDone) {
  FakeDevice::Options options;
  options.max_delay = absl::Milliseconds(2);
  MakeDevices(options);
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output y = AddWork(x);
  const Output wrong = b_.Op("MatMul", "wrong", {x, x});
  b_.Op("AddV2", "sum", {y, wrong});
  Open();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(Fetch("sum", {{"x", Floats(10)}}).status(), StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_TRUE(IsIdle());
  }
}

TEST_F(StreamFailuresTest, CancelledAndLateRunsEndWhenTheDeviceIsDone) {
  FakeDevice::Options options;
  options.max_delay = absl::Milliseconds(1);
  OpenChain(options);
  int num_stopped = 0;
  for (int i = 0; i < 30; ++i) {
    CancellationManager cancellation;
    CallOptions call;
    std::thread stopper;
    if (i % 2 == 0) {
      call.cancellation = &cancellation;
      stopper = std::thread([&cancellation, i] {
        absl::SleepFor(absl::Microseconds(200 * i));
        cancellation.StartCancel();
      });
    } else {
      call.deadline = absl::Now() + absl::Microseconds(300 * i);
    }
    const absl::StatusOr<Tensor> y = Fetch("a15", {{"x", Floats(1000)}}, call);
    if (!y.ok()) {
      EXPECT_TRUE(IsIdle());
      ++num_stopped;
    }
    if (stopper.joinable()) stopper.join();
  }
  EXPECT_GT(num_stopped, 3);
  ExpectRight();
}

// Works until a moment.
class WorkUntil final : public Kernel {
 public:
  explicit WorkUntil(const absl::Time* end) : end_(end) {}
  absl::Status Compute(KernelContext& context) const override {
    while (absl::Now() < *end_) {
    }
    context.SetOutput(0, context.input(0));
    return absl::OkStatus();
  }

 private:
  const absl::Time* const end_;
};

// The last kernel ends when the deadline has just passed, and nothing has been told of that yet.
TEST_F(StreamFailuresTest, ARunThatIsLateAtItsVeryEndEndsWhenTheDeviceIsDone) {
  absl::Time end = absl::InfinitePast();
  ASSERT_OK(registry_.Add(
      OwnedKernelRow("Square", [&end](const KernelConstruction&) { return std::make_unique<WorkUntil>(&end); })));
  FakeDevice::Options options;
  options.max_delay = absl::Milliseconds(20);
  MakeDevices(options);
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output y = AddWork(x);
  const Output late = b_.Op("Square", "late", {x});
  b_.AddControl(late, y);
  Open();
  ASSERT_OK(Fetch("late", {{"x", Floats(10)}}));
  for (int i = 0; i < 5; ++i) {
    CallOptions call;
    call.deadline = end = absl::Now() + absl::Milliseconds(30);
    EXPECT_THAT(Fetch("late", {{"x", Floats(10)}}, call).status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_TRUE(IsIdle());
  }
}

TEST_F(StreamFailuresTest, MemoryRunsOut) {
  FakeDevice::Options options;
  options.memory_bytes = size_t{64} << 10;
  MakeDevices(options);
  AddScaled(b_.Placeholder("x", DType::kFloat));
  Open();
  EXPECT_THAT(Fetch("y", {{"x", Floats(20'000)}}).status(), StatusIs(absl::StatusCode::kResourceExhausted));
  ASSERT_OK_AND_ASSIGN(const Tensor y, Fetch("y", {{"x", Floats(1000)}}));
  EXPECT_EQ(y.flat<float>()[999], 1999);
}

}  // namespace
}  // namespace sluice

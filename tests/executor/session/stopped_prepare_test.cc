// Preparing a signature ends at the deadline and when it is cancelled, in whichever pass that happens.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/families/register_all.h"
#include "tests/executor/session/session_fixture.h"
#include "tests/testing/function_kernel.h"

namespace sluice {
namespace {

class StoppedPrepareTest : public SessionFixture, public ::testing::WithParamInterface<Driver> {
 protected:
  static constexpr int kNodes = 2000;

  StoppedPrepareTest() { RegisterAllKernels(registry_); }

  // A chain whose kernels are made one by one; `on_kernel` hears of each.
  void OpenChain(std::function<void(int)> on_kernel) {
    ASSERT_OK(registry_.Add(OwnedKernelRow("Neg", [this, on_kernel](const KernelConstruction&) {
      on_kernel(++num_kernels_);
      return std::make_unique<FunctionKernel>(
          [](KernelContext& context) {
            context.SetOutput(0, context.TakeInput(0));
            return absl::OkStatus();
          },
          CostHint::kCheap);
    })));
    Output last = b_.Placeholder("x", DType::kInt32);
    for (int i = 0; i < kNodes; ++i) last = b_.Op("Neg", absl::StrCat("n", i), {last});
    b_.Op("Identity", "y", {last});
    SessionOptions options;
    options.driver = GetParam();
    options.kernels = &registry_;
    Open(options);
  }
  absl::Status Prepare(const PrepareOptions& options = {}) {
    return session_->Prepare({{"x"}, {"y"}, {}, {}}, options).status();
  }

  KernelRegistry registry_;
  int num_kernels_ = 0;
};

TEST_P(StoppedPrepareTest, ADeadlineInThePastPreparesNothing) {
  OpenChain([](int) {});
  PrepareOptions options;
  options.deadline = absl::Now() - absl::Seconds(1);
  EXPECT_THAT(Prepare(options), IsError(ErrorCode::kDeadline, "prepared"));
  EXPECT_EQ(num_kernels_, 0);
  options.deadline = absl::Now() + absl::Hours(1);
  EXPECT_OK(Prepare(options));
}

TEST_P(StoppedPrepareTest, ADeadlineThatPassesOnTheWayEndsIt) {
  OpenChain([](int) { absl::SleepFor(absl::Milliseconds(1)); });
  PrepareOptions options;
  options.deadline = absl::Now() + absl::Milliseconds(50);
  EXPECT_THAT(Prepare(options), IsError(ErrorCode::kDeadline, "prepared"));
  EXPECT_LT(num_kernels_, kNodes / 2);
}

TEST_P(StoppedPrepareTest, ACancellationEndsItWithItsCause) {
  CancellationManager manager;
  OpenChain([&](int made) {
    if (made == 100) manager.StartCancelWithStatus(absl::AbortedError("enough"));
  });
  PrepareOptions options;
  options.cancellation = &manager;
  EXPECT_THAT(Prepare(options), StatusIs(absl::StatusCode::kAborted, "enough"));
  EXPECT_LT(num_kernels_, 300);
}

TEST_P(StoppedPrepareTest, AClosedSessionEndsIt) {
  OpenChain([&](int made) {
    if (made != 100) return;
    EXPECT_OK(session_->Close());
  });
  EXPECT_THAT(Prepare(), IsError(ErrorCode::kSessionClosed));
  EXPECT_LT(num_kernels_, 300);
}

// The first run of a signature prepares it: under the deadline and the cancellation of the call.
TEST_P(StoppedPrepareTest, ARunsDeadlineCoversItsPreparing) {
  OpenChain([](int) { absl::SleepFor(absl::Milliseconds(1)); });
  CallOptions call;
  call.deadline = absl::Now() + absl::Milliseconds(50);
  EXPECT_THAT(Fetch("y", {{"x", Int(1)}}, call), IsError(ErrorCode::kDeadline));
  EXPECT_LT(num_kernels_, kNodes / 2);
  EXPECT_EQ(session_->num_prepared(), 0u);
}

// Nothing but the passes over the graph takes time here: each of them is polled.
TEST_P(StoppedPrepareTest, EveryPassIsPolled) {
  const Output x = b_.Placeholder("x", DType::kInt32), p = b_.Placeholder("p", DType::kBool);
  Output last = x;
  for (int i = 0; i < 3000; ++i) {
    const Output ports = b_.Op("Switch", "", {last, p});
    last = b_.Op("Merge", "", {b_.Op("Neg", "", {ports}), GraphBuilder::Nth(ports, 1)});
  }
  b_.Op("Identity", "y", {last});
  SessionOptions options;
  options.driver = GetParam();
  options.num_cpu_devices = 2;
  Open(options);
  const FeedFetchSpec spec = {{"x", "p"}, {"y"}, {}, {}};
  const absl::Time begin = absl::Now();
  ASSERT_OK(session_->Prepare(spec));
  const absl::Duration whole = absl::Now() - begin;
  int ended = 0;
  for (int part = 1; part < 20; ++part) {
    PrepareOptions stop;
    stop.deadline = absl::Now() + whole * part / 40;
    const absl::Status status = session_->Prepare(spec, stop).status();
    ended += status.ok() ? 0 : 1;
    EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kDeadlineExceeded) << status;
  }
  EXPECT_GT(ended, 0);
}

// A missing kernel is known then; contradictions between shapes are not looked for any more.
TEST_P(StoppedPrepareTest, ABetterReasonForAnErrorIsNotLookedForTooLate) {
  CancellationManager manager;
  bool cancels = false;
  ASSERT_OK(
      registry_.Add(OwnedKernelRow("Neg", [&](const KernelConstruction&) -> absl::StatusOr<std::unique_ptr<Kernel>> {
        if (cancels) manager.StartCancel();
        return Error(ErrorCode::kNoKernel).Text("not on this machine");
      })));
  const Output a = b_.Const("a", Tensor::Of<float>(Shape::Of({2, 3}), std::vector<float>(6, 1.0f)));
  const Output b = b_.Const("b", Tensor::Of<float>(Shape::Of({4, 5}), std::vector<float>(20, 1.0f)));
  Output last = b_.Op("MatMul", "product", {a, b});
  for (int i = 0; i < kNodes; ++i) last = b_.Op("Identity", absl::StrCat("n", i), {last});
  b_.Op("Neg", "y", {last});
  SessionOptions options;
  options.driver = GetParam();
  options.kernels = &registry_;
  Open(options);
  const FeedFetchSpec spec = {{}, {"y"}, {}, {}};
  EXPECT_THAT(session_->Prepare(spec), IsError(ErrorCode::kShapeMismatch, "'product'"));
  cancels = true;
  PrepareOptions prepare;
  prepare.cancellation = &manager;
  EXPECT_THAT(session_->Prepare(spec, prepare), IsError(ErrorCode::kNoKernel, "not on this machine"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, StoppedPrepareTest, testing::Values(Driver::kSerial, Driver::kDataflow));

}  // namespace
}  // namespace sluice

#include "executor/session/partitioned_step.h"

#include <thread>

#include "absl/time/clock.h"
#include "tests/executor/session/session_fixture.h"

namespace sluice {
namespace {

constexpr absl::string_view kFirst = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr absl::string_view kSecond = "/job:localhost/replica:0/task:0/device:CPU:1";

// Graphs on two CPU devices of one process.
class PartitionedStepTest : public SessionFixture {
 protected:
  void OpenOnTwo(int num_threads = 2) {
    SessionOptions options;
    options.num_cpu_devices = 2;
    options.num_threads = num_threads;
    Open(options);
  }
};

TEST_F(PartitionedStepTest, ValuesCrossBothWays) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  Output y = x;
  for (int i = 0; i < 20; ++i) {
    b_.WithDevice(i % 2 == 0 ? kSecond : kFirst);
    y = b_.Op("AddV2", absl::StrCat("add", i), {y, y});
  }
  for (const int threads : {1, 2, 4}) {
    OpenOnTwo(threads);
    for (int32_t i = 0; i < 20; ++i) ExpectFetch("add19", i << 20, {{"x", Int(i)}});
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> both, session_->Run({{"x", Int(1)}}, {"add1", "add0"}, {}));
    EXPECT_EQ(*both[0].AsScalar<int32_t>(), 4);
    EXPECT_EQ(*both[1].AsScalar<int32_t>(), 2);
  }
}

TEST_F(PartitionedStepTest, ADeadBranchCrosses) {
  const Output x = b_.Placeholder("x", DType::kInt32), p = b_.Placeholder("p", DType::kBool);
  const Output ports = b_.Op("Switch", "s", {x, p});
  b_.WithDevice(kSecond);
  const Output negative = b_.Op("Neg", "n", {ports});
  b_.WithDevice(kFirst);
  b_.Op("Merge", "m", {negative, GraphBuilder::Nth(ports, 1)});
  OpenOnTwo();
  ExpectFetch("m", -3, {{"x", Int(3)}, {"p", Tensor::Scalar(false)}});
  ExpectFetch("m", 3, {{"x", Int(3)}, {"p", Tensor::Scalar(true)}});
  EXPECT_THAT(Fetch("n", {{"x", Int(3)}, {"p", Tensor::Scalar(true)}}), IsError(ErrorCode::kFetchDead));
}

TEST_F(PartitionedStepTest, ALoopOverTwoDevicesRuns) {
  b_.WithDevice(kFirst);
  const Output x = b_.Placeholder("x", DType::kInt32);
  const Output enter = b_.Op("Enter", "enter", {b_.Const("zero", Int(0))}, {{"frame_name", "f"}});
  const Output merge = b_.Op("Merge", "merge", {enter, Output()}, {{"T", DType::kInt32}, {"N", 2}});
  const Output limit = b_.Op("Enter", "limit", {x}, {{"frame_name", "f"}, {"is_constant", true}});
  const Output condition = b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {merge, limit})});
  const Output ports = b_.Op("Switch", "switch", {merge, condition});
  const Output one = b_.Op("Enter", "one", {b_.Const("c1", Int(1))}, {{"frame_name", "f"}, {"is_constant", true}});
  b_.WithDevice(kSecond);
  const Output plus = b_.Op("AddV2", "plus", {GraphBuilder::Nth(ports, 1), one});
  b_.WithDevice(kFirst);
  b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {plus}));
  b_.Op("Exit", "out", {ports});
  for (const int threads : {1, 2}) {
    OpenOnTwo(threads);
    for (const int32_t n : {0, 1, 100}) ExpectFetch("out", n, {{"x", Int(n)}});
  }
}

TEST_F(PartitionedStepTest, AnErrorOnOneDeviceEndsTheOther) {
  const Output x = b_.Placeholder("x", DType::kInt32);
  b_.WithDevice(kSecond);
  const Output quotient = b_.Op("FloorDiv", "quotient", {x, b_.Const("zero", Int(0))});
  b_.WithDevice(kFirst);
  b_.Op("Neg", "after", {quotient});
  OpenOnTwo();
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Fetch("after", {{"x", Int(1)}}), StatusIs(absl::StatusCode::kInvalidArgument, "quotient"));
  }
}

TEST_F(PartitionedStepTest, DeadlinesAndCancellationReachAllParts) {
  b_.WithDevice(kSecond);
  AddEndlessLoop();
  b_.WithDevice(kFirst);
  b_.Op("Neg", "after", {Output{b_.graph().Find("endless"), 0}});
  OpenOnTwo();
  CallOptions call;
  call.deadline = absl::Now() + absl::Milliseconds(30);
  const absl::Time start = absl::Now();
  EXPECT_THAT(Fetch("after", {}, call), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(500));
  CancellationManager cancellation;
  CallOptions cancelled;
  cancelled.cancellation = &cancellation;
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(20));
    cancellation.StartCancel();
  });
  EXPECT_THAT(Fetch("after", {}, cancelled), StatusIs(absl::StatusCode::kCancelled));
  canceller.join();
}

TEST_F(PartitionedStepTest, VariablesStayOnTheirDevices) {
  b_.WithDevice(kSecond);
  AddCounter();
  b_.WithDevice(kFirst);
  OpenOnTwo();
  ASSERT_OK(session_->Run({}, {}, {"start"}));
  ExpectFetch("count", 1);
  ExpectFetch("count", 2);
}

}  // namespace
}  // namespace sluice

// What gradients of loops keep of each iteration, and what that costs.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "executor/driver.h"
#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "graph/gradients/gradients.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/executor/gradients/control_flow_fixture.h"

namespace sluice {
namespace {

using ::testing::Each;

class LoopStacksTest : public ControlFlowFixture {
 protected:
  Output Scalar(absl::string_view name) { return b_.Placeholder(name, DType::kFloat, PartialShape::Scalar()); }
  int CountOf(absl::string_view op) {
    int count = 0;
    for (const NodeId id : b_.graph().Nodes()) count += b_.graph().Is(id, op) ? 1 : 0;
    return count;
  }
  // v = x; n times: v = op(v, w). Gives the last v.
  Output LoopOf(absl::string_view op, Output x, Output w) {
    const Loop loop = Begin("loop", b_.Placeholder("n", DType::kInt32, PartialShape::Scalar()));
    const Variable v = Enter(loop, "v", x);
    Next(v, "v", b_.Op(op, "next", {v.value, Invariant(loop, "weight", w)}));
    End(loop);
    return v.last;
  }
};

// The invariant w is there, and the shapes are known: only v is kept.
TEST_F(LoopStacksTest, InvariantsAreNotKept) {
  const Output x = Scalar("x"), w = Scalar("w");
  ASSERT_OK(Add({LoopOf("Mul", x, w)}, {x, w}));
  EXPECT_EQ(CountOf("StackPushV2"), 1);
  EXPECT_EQ(CountOf("StackPopV2"), 1);
}

TEST_F(LoopStacksTest, ASumKeepsNothing) {
  const Output x = Scalar("x"), w = Scalar("w");
  ASSERT_OK(Add({LoopOf("AddV2", x, w)}, {x, w}));
  EXPECT_EQ(CountOf("StackPushV2"), 0);
}

// Of unknown shape.
TEST_F(LoopStacksTest, OfASumOnlyTheShapeIsKept) {
  const Output x = Input("x"), w = Input("w");
  ASSERT_OK(Add({LoopOf("AddV2", x, w)}, {x, w}));
  EXPECT_EQ(CountOf("StackPushV2"), 1);
  for (const NodeId id : b_.graph().Nodes()) {
    if (b_.graph().Is(id, "StackPopV2")) {
      EXPECT_EQ(b_.graph().output_type(id, 0), DType::kInt32);
    }
  }
}

TEST_F(LoopStacksTest, TheGradientsLoopTurnsAsWideAsTheForwardOne) {
  const Output x = Scalar("x"), w = Scalar("w");
  ASSERT_OK(Add({LoopOf("Mul", x, w)}, {x, w}));
  std::vector<int64_t> widths;
  for (const NodeId id : b_.graph().Nodes()) {
    if (!b_.graph().Is(id, "Enter")) continue;
    widths.push_back(b_.graph().GetInt(id, "parallel_iterations").value_or(-1));
  }
  EXPECT_THAT(widths, Each(7));
}

class LoopStacksRunTest : public LoopStacksTest, public ::testing::WithParamInterface<Driver> {
 protected:
  // The gradient of x * w^n by w, and the most bytes that the run took.
  void Run(int32_t trips, float* gradient, int64_t* peak) {
    const Output x = Scalar("x"), w = Scalar("w");
    ASSERT_OK_AND_ASSIGN(const GradientResult found, Add({LoopOf("Mul", x, w)}, {w}));
    TrackingAllocator memory(HostAllocator());
    SessionOptions options;
    options.driver = GetParam();
    options.allocator = &memory;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, b_.graph()));
    const NamedTensors feeds = {{"x", Tensor::Scalar(2.f)}, {"w", Tensor::Scalar(1.f)}, {"n", Tensor::Scalar(trips)}};
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values,
                         session->Run(feeds, {b_.graph().OutputName(found.xs[0].value)}, {}));
    *gradient = values[0].flat<float>()[0];
    *peak = memory.peak_bytes();
  }
};

// One float in each iteration.
TEST_P(LoopStacksRunTest, TakesOneAndAHalfTimesTheValuesAtMost) {
  constexpr int32_t kTrips = 100000;
  float gradient = 0;
  int64_t peak = 0;
  Run(kTrips, &gradient, &peak);
  EXPECT_EQ(gradient, 2.f * kTrips);
  EXPECT_GE(peak, 4 * kTrips);
  EXPECT_LE(peak, 6 * kTrips);
}

TEST_P(LoopStacksRunTest, AMillionIterations) {
  float gradient = 0;
  int64_t peak = 0;
  Run(1000000, &gradient, &peak);
  EXPECT_EQ(gradient, 2e6f);
}

INSTANTIATE_TEST_SUITE_P(Drivers, LoopStacksRunTest, ::testing::Values(Driver::kSerial, Driver::kDataflow));

}  // namespace
}  // namespace sluice

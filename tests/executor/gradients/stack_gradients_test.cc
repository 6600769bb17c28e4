// Gradients of gradients of loops: what a loop of gradients takes from stacks, other loops have put there.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradients.h"
#include "tests/executor/gradients/control_flow_fixture.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using Function = std::function<double(double, double)>;

class StackGradientsTest : public ControlFlowFixture {
 protected:
  // Gradients of y by xs, of the first one of those by xs, and so on: those of the last order.
  absl::StatusOr<Values> OfOrder(int order, Output y, const std::vector<Output>& xs, const NamedTensors& feeds) {
    for (int i = 1; i < order; ++i) {
      SLUICE_ASSIGN_OR_RETURN(const GradientResult found, Add({y}, xs));
      y = found.xs[0].value;
    }
    return Gradients({y}, xs, feeds);
  }
  // Checks d2y/dx2 and d2y/dx dw against differences.
  void CheckSecondOrder(Output y, Output x, Output w, const Function& function, double at_x, double at_w,
                        NamedTensors feeds = {}) {
    feeds.push_back({"x", Tensor::Scalar(static_cast<float>(at_x))});
    feeds.push_back({"w", Tensor::Scalar(static_cast<float>(at_w))});
    ASSERT_OK_AND_ASSIGN(const Values found, OfOrder(2, y, {x, w}, feeds));
    constexpr double h = 1e-4;
    const auto by_x = [&](double a, double b) { return (function(a + h, b) - function(a - h, b)) / (2 * h); };
    const double xx = (by_x(at_x + h, at_w) - by_x(at_x - h, at_w)) / (2 * h);
    const double xw = (by_x(at_x, at_w + h) - by_x(at_x, at_w - h)) / (2 * h);
    EXPECT_NEAR(found[0][0], xx, 1e-3 * std::max(1.0, std::abs(xx)));
    EXPECT_NEAR(found[1][0], xw, 1e-3 * std::max(1.0, std::abs(xw)));
  }
};

class StackGradientsOfTripsTest : public StackGradientsTest, public ::testing::WithParamInterface<int> {
 protected:
  static NamedTensors Trips() { return {{"n", Tensor::Scalar<int32_t>(GetParam())}}; }
};

TEST_P(StackGradientsOfTripsTest, ALoopWithAnInvariant) {
  const Output x = Input("x"), w = Input("w");
  const Loop loop = Begin("loop", b_.Placeholder("n", DType::kInt32));
  const Variable v = Enter(loop, "v", x);
  Next(v, "v", b_.Op("Mul", "product", {b_.Op("Sin", "sin", {v.value}), Invariant(loop, "weight", w)}));
  End(loop);
  const auto function = [](double value, double by) {
    for (int i = 0; i < GetParam(); ++i) value = std::sin(value) * by;
    return value;
  };
  CheckSecondOrder(v.last, x, w, function, 0.5, 1.2, Trips());
}

// Values are pushed, and their gradients, where the branch is taken that they stand in.
TEST_P(StackGradientsOfTripsTest, AConditionalInALoop) {
  const Output x = Input("x"), w = Input("w");
  const Loop loop = Begin("loop", b_.Placeholder("n", DType::kInt32));
  const Output weight = Invariant(loop, "weight", w);
  const Variable v = Enter(loop, "v", x);
  const Output early = b_.Op("Less", "early", {Count(loop), Invariant(loop, "two", Int("two", 2))});
  const Output gate = Gate("inner", v.value, early);
  const Output yes = b_.Op("Square", "yes", {Nth(gate, 1)});
  const Output no = b_.Op("Mul", "no", {b_.Op("Sin", "sin", {gate}), Gate("inner_weight", weight, early)});
  Next(v, "v", b_.Op("Merge", "both", {no, yes}));
  End(loop);
  const auto function = [](double value, double by) {
    for (int i = 0; i < GetParam(); ++i) value = i < 2 ? value * value : std::sin(value) * by;
    return value;
  };
  CheckSecondOrder(v.last, x, w, function, 1.1, 1.3, Trips());
}

// The inner loop turns another number of times in each iteration of the outer one.
TEST_P(StackGradientsOfTripsTest, ALoopInALoop) {
  const Output x = Input("x"), w = Input("w");
  const Loop outer = Begin("outer", b_.Placeholder("n", DType::kInt32));
  const Variable v = Enter(outer, "v", x);
  const Loop inner = Begin("inner", Count(outer), &outer);
  const Variable u = Enter(inner, "u", v.value);
  Next(u, "u", b_.Op("Mul", "inner_product", {b_.Op("Sin", "sin", {u.value}), Invariant(inner, "weight", w)}));
  End(inner);
  Next(v, "v", b_.Op("Mul", "product", {u.last, v.value}));
  End(outer);
  const auto function = [](double value, double by) {
    for (int i = 0; i < GetParam(); ++i) {
      double inside = value;
      for (int j = 0; j < i; ++j) inside = std::sin(inside) * by;
      value *= inside;
    }
    return value;
  };
  CheckSecondOrder(v.last, x, w, function, 0.9, 1.2, Trips());
}

INSTANTIATE_TEST_SUITE_P(Trips, StackGradientsOfTripsTest, ::testing::Values(0, 1, 2, 4));

TEST_F(StackGradientsTest, AnyOrder) {
  const Output x = Input("x");
  const Loop loop = Begin("loop", Int("trips", 2));
  const Variable v = Enter(loop, "v", x);
  Next(v, "v", b_.Op("Square", "square", {v.value}));
  End(loop);
  const NamedTensors feeds = {{"x", Tensor::Scalar(1.5f)}};
  // Of x^4.
  ASSERT_OK_AND_ASSIGN(const Values third, OfOrder(3, v.last, {x}, feeds));
  EXPECT_NEAR(third[0][0], 24 * 1.5, 1e-4);
  ASSERT_OK_AND_ASSIGN(const Values fourth, OfOrder(4, v.last, {x}, feeds));
  EXPECT_NEAR(fourth[0][0], 24, 1e-4);
}

// Of the loop only what its stacks hold is read, and nothing that it leaves: by the sum, dy/dx does not depend on y.
TEST_F(StackGradientsTest, ALoopOfWhichOnlyStacksAreRead) {
  const Output x = Input("x");
  const Loop loop = Begin("loop", Int("trips", 3));
  const Output in = Invariant(loop, "in", x);
  const Variable v = Enter(loop, "v", Number("zero", 0));
  Next(v, "v", b_.Op("AddV2", "sum", {v.value, b_.Op("Square", "square", {b_.Op("Sin", "sin", {in})})}));
  End(loop);
  ASSERT_OK_AND_ASSIGN(const Values second, OfOrder(2, v.last, {x}, {{"x", Tensor::Scalar(0.4f)}}));
  EXPECT_NEAR(second[0][0], 3 * 2 * std::cos(0.8), 1e-4);
}

// Two loops, one after the other: stacks of the first are read before those of the second.
TEST_F(StackGradientsTest, OneLoopAfterTheOther) {
  const Output x = Input("x"), w = Input("w");
  Output y = x;
  for (const std::string name : {"first", "second"}) {
    const Loop loop = Begin(name, Int(name + "/trips", 2));
    const Variable v = Enter(loop, name + "/v", y);
    const Output weight = Invariant(loop, name + "/weight", w);
    Next(v, name + "/v", b_.Op("Mul", name + "/product", {b_.Op("Sin", name + "/sin", {v.value}), weight}));
    End(loop);
    y = v.last;
  }
  const auto function = [](double value, double by) {
    for (int i = 0; i < 4; ++i) value = std::sin(value) * by;
    return value;
  };
  CheckSecondOrder(y, x, w, function, 0.7, 1.1);
}

// Values in stacks do not matter unless one differentiates with respect to them.
TEST_F(StackGradientsTest, StacksOfOtherValuesDoNotCount) {
  const Output x = Input("x"), z = Input("z");
  const Loop loop = Begin("loop", Int("trips", 2));
  const Variable v = Enter(loop, "v", x);
  Next(v, "v", b_.Op("Square", "square", {v.value}));
  End(loop);
  ASSERT_OK_AND_ASSIGN(const GradientResult first, Add({v.last}, {x}));
  const Output y = b_.Op("Mul", "y", {first.xs[0].value, z});
  ASSERT_OK_AND_ASSIGN(const Values found,
                       Gradients({y}, {z}, {{"x", Tensor::Scalar(2.f)}, {"z", Tensor::Scalar(1.f)}}));
  EXPECT_THAT(found, ElementsAre(ElementsAre(4 * 8)));
}

// The order in which such a stack returns its values is not known.
TEST_F(StackGradientsTest, AStackThatNoLoopFillsIsRefusedByName) {
  const Output x = Input("x");
  const Output stack = b_.Op("StackV2", "stack", {Int("size", 3)}, {{"elem_type", DType::kFloat}});
  const Output push = b_.Op("StackPushV2", "push", {stack, b_.Op("Square", "square", {x})});
  const Output pop = b_.Op("StackPopV2", "pop", {stack}, {{"elem_type", DType::kFloat}});
  b_.AddControl(pop, push);
  EXPECT_THAT(Add({b_.Op("Square", "y", {pop})}, {x}), StatusIs(absl::StatusCode::kUnimplemented, "pop"));
}

// A frame that runs once has no counter by which its values could be given back in order.
TEST_F(StackGradientsTest, AStackThatAFrameWithoutLoopCondFillsIsRefused) {
  const Output x = Input("x");
  const Output stack = b_.Op("StackV2", "stack", {Int("size", -1)}, {{"elem_type", DType::kFloat}});
  const Output handle = b_.Op("Enter", "once/handle", {stack}, Frame("once", true));
  const Output inside = b_.Op("Square", "once/square", {b_.Op("Enter", "once/x", {x}, Frame("once"))});
  const Output left = b_.Op("Exit", "once/exit", {b_.Op("StackPushV2", "push", {handle, inside})});
  const Loop loop = Begin("loop", Int("trips", 1));
  const Output start = Number("start", 1);
  b_.AddControl(start, left);
  const Variable v = Enter(loop, "v", start);
  const Output pop = b_.Op("StackPopV2", "pop", {Invariant(loop, "handle", stack)}, {{"elem_type", DType::kFloat}});
  Next(v, "v", b_.Op("Mul", "product", {v.value, pop}));
  End(loop);
  EXPECT_THAT(Add({v.last}, {x}), StatusIs(absl::StatusCode::kUnimplemented, "once/handle"));
}

TEST_F(StackGradientsTest, AStackThatIsFilledInTwoPlacesIsRefusedByName) {
  const Output x = Input("x");
  const Loop loop = Begin("loop", Int("trips", 2));
  const Variable v = Enter(loop, "v", x);
  const Output stack = b_.Op("StackV2", "stack", {Int("size", -1)}, {{"elem_type", DType::kFloat}});
  const Output handle = Invariant(loop, "handle", stack);
  const Output push = b_.Op("StackPushV2", "push", {handle, v.value});
  Next(v, "v", b_.Op("StackPushV2", "again", {handle, b_.Op("Sin", "sin", {push})}));
  End(loop);
  const Output pop = b_.Op("StackPopV2", "pop", {stack}, {{"elem_type", DType::kFloat}});
  EXPECT_THAT(Add({pop}, {x}), StatusIs(absl::StatusCode::kUnimplemented, "pop"));
}

}  // namespace
}  // namespace sluice

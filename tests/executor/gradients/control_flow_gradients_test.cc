// Gradients through conditionals and loops that were built node by node, as files hold them.

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "graph/gradients/gradients.h"
#include "tests/executor/gradients/control_flow_fixture.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ControlFlowGradientsTest : public ControlFlowFixture {
 protected:
  static NamedTensors At(float x, bool p) { return {{"x", Tensor::Scalar(x)}, {"p", Tensor::Scalar(p)}}; }
};

TEST_F(ControlFlowGradientsTest, ABranchThatIsNotTakenGivesZeros) {
  const Output x = Input("x"), p = b_.Placeholder("p", DType::kBool);
  const Output gate = Gate("gate", x, p);
  const Output yes = b_.Op("Square", "yes", {Nth(gate, 1)});
  const Output no = b_.Op("Identity", "no", {Gate("other", Number("k", 7), p)});
  const Output y = b_.Op("Merge", "y", {no, yes});
  ASSERT_OK_AND_ASSIGN(const Values taken, Gradients({y}, {x}, At(3, true)));
  EXPECT_THAT(taken, ElementsAre(ElementsAre(6)));
  ASSERT_OK_AND_ASSIGN(const Values other, Gradients({y}, {x}, At(3, false)));
  EXPECT_THAT(other, ElementsAre(ElementsAre(0)));
}

// Nothing before the run says that both Switches go the same way.
TEST_F(ControlFlowGradientsTest, PredicatesThatAreEqualAtRunTimeOnly) {
  const Output x = Input("x"), p = b_.Placeholder("p", DType::kBool);
  const Output same = b_.Op("LogicalAnd", "same", {p, p});
  const Output yes = b_.Op("Square", "yes", {Nth(Gate("gate", x, p), 1)});
  const Output no = b_.Op("Neg", "no", {Gate("other", x, same)});
  const Output y = b_.Op("Merge", "y", {no, yes});
  ASSERT_OK_AND_ASSIGN(const Values taken, Gradients({y}, {x}, At(3, true)));
  EXPECT_THAT(taken, ElementsAre(ElementsAre(6)));
  ASSERT_OK_AND_ASSIGN(const Values other, Gradients({y}, {x}, At(3, false)));
  EXPECT_THAT(other, ElementsAre(ElementsAre(-1)));
}

TEST_F(ControlFlowGradientsTest, LoopsNestAsDeepAsTheCallersLimitsAllow) {
  constexpr int kDepth = 66;
  const Output x = Input("x"), trips = Int("trips", 1);
  std::vector<Loop> loops;
  std::vector<Variable> variables;
  Output value = x;
  for (int i = 0; i < kDepth; ++i) {
    const std::string name = absl::StrCat("loop", i);
    const Output here = loops.empty() ? trips : Invariant(loops.back(), name + "/trips", trips);
    loops.push_back(Begin(name, here, loops.empty() ? nullptr : &loops.back()));
    variables.push_back(Enter(loops.back(), name + "/x", value));
    value = variables.back().value;
  }
  value = b_.Op("Neg", "neg", {value});
  for (int i = kDepth - 1; i >= 0; --i) {
    const auto place = static_cast<size_t>(i);
    Next(variables[place], absl::StrCat("loop", i, "/x"), value);
    End(loops[place]);
    value = variables[place].last;
  }
  GradientOptions options;
  EXPECT_THAT(Add({value}, {x}, options), IsError(ErrorCode::kLimitFrames, "nested too deeply"));
  options.limits.max_frame_depth = kDepth - 1;
  EXPECT_THAT(Add({value}, {x}, options), IsError(ErrorCode::kLimitFrames, "nested too deeply"));
  options.limits.max_frame_depth = kDepth;
  EXPECT_OK(Add({value}, {x}, options));
}

// A predicate that has a default is another one where it is fed.
TEST_F(ControlFlowGradientsTest, ADefaultIsNotThePredicate) {
  const Output x = Input("x"), p = b_.Placeholder("p", DType::kBool);
  const Output q = b_.Op("PlaceholderWithDefault", "q", {p}, {{"shape", PartialShape::Scalar()}});
  std::vector<Output> ys;
  for (const auto& [name, predicate] :
       {std::make_pair(std::string("by_p"), p), std::make_pair(std::string("by_q"), q)}) {
    const Output gate = Gate(name + "/gate", x, predicate);
    const Output mixed = b_.Op("Mul", name + "/mixed", {x, Nth(gate, 1)});
    ys.push_back(b_.Op("Merge", name, {b_.Op("Neg", name + "/no", {gate}), mixed}));
  }
  NamedTensors feeds = At(3, true);
  ASSERT_OK_AND_ASSIGN(const Values same, Gradients(ys, {x}, feeds));
  EXPECT_THAT(same, ElementsAre(ElementsAre(12)));
  feeds.push_back({"q", Tensor::Scalar(false)});
  ASSERT_OK_AND_ASSIGN(const Values other, Gradients(ys, {x}, feeds));
  EXPECT_THAT(other, ElementsAre(ElementsAre(6 - 1)));
}

// The value is live where its use in the branch is dead: what comes from there is zeros, not a dead sum.
TEST_F(ControlFlowGradientsTest, AUseInABranchAndOneOutsideAddUp) {
  const Output x = Input("x"), p = b_.Placeholder("p", DType::kBool);
  const Output mixed = b_.Op("Mul", "mixed", {x, Nth(Gate("gate", x, p), 1)});
  const Output y = b_.Op("Merge", "y", {b_.Op("Identity", "no", {Gate("other", Number("k", 7), p)}), mixed});
  const Output z = b_.Op("Square", "z", {x});
  for (const bool taken : {true, false}) {
    ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y, z}, {x}, At(3, taken)));
    EXPECT_THAT(dx, ElementsAre(ElementsAre(taken ? 12 : 6))) << taken;
  }
}

class LoopGradientsTest : public ControlFlowGradientsTest, public ::testing::WithParamInterface<int> {};

// v = x; n times: v = sin(v) * w. Values of all iterations are needed, w is an invariant.
TEST_P(LoopGradientsTest, EachIterationHasItsOwnValues) {
  const Output x = Input("x"), w = Input("w"), n = b_.Placeholder("n", DType::kInt32);
  const Loop loop = Begin("loop", n);
  const Output weight = b_.Op("Enter", "weight", {w}, Frame("loop", true));
  const Variable v = Enter(loop, "v", x);
  Next(v, "v", b_.Op("Mul", "product", {b_.Op("Sin", "sin", {v.value}), weight}));
  End(loop);
  const int trips = GetParam();
  double value = 0.5, by_x = 1, by_w = 0;
  for (int i = 0; i < trips; ++i) {
    by_w = by_w * std::cos(value) * 1.5 + std::sin(value);
    by_x *= std::cos(value) * 1.5;
    value = std::sin(value) * 1.5;
  }
  const NamedTensors feeds = {
      {"x", Tensor::Scalar(0.5f)}, {"w", Tensor::Scalar(1.5f)}, {"n", Tensor::Scalar<int32_t>(trips)}};
  ASSERT_OK_AND_ASSIGN(const Values found, Gradients({v.last}, {x, w}, feeds));
  EXPECT_NEAR(found[0][0], by_x, 1e-5);
  EXPECT_NEAR(found[1][0], by_w, 1e-5);
}

TEST_P(LoopGradientsTest, TwoExitsOfAVariableAddUp) {
  const Output x = Input("x"), n = b_.Placeholder("n", DType::kInt32);
  const Loop loop = Begin("loop", n);
  const Variable v = Enter(loop, "v", x);
  const Output again = b_.Op("Exit", "again", {b_.graph().inputs(v.last.node)[0]});
  Next(v, "v", b_.Op("AddV2", "sum", {v.value, v.value}));
  End(loop);
  const Output y = b_.Op(
      "AddV2", "y", {b_.Op("Mul", "two", {v.last, Number("2", 2)}), b_.Op("Mul", "three", {again, Number("3", 3)})});
  const NamedTensors feeds = {{"x", Tensor::Scalar(0.5f)}, {"n", Tensor::Scalar<int32_t>(GetParam())}};
  ASSERT_OK_AND_ASSIGN(const Values found, Gradients({y}, {x}, feeds));
  EXPECT_NEAR(found[0][0] / std::pow(2.0, GetParam()), 5, 1e-5);
}

// The first gradient reads b's last value by an Exit of its own, which has no gradient in the second one.
TEST_P(LoopGradientsTest, AnExitOfItsOwnThatTheFirstGradientReads) {
  const Output x = Input("x"), n = b_.Placeholder("n", DType::kInt32);
  const Loop loop = Begin("loop", n);
  const Variable a = Enter(loop, "a", x), b = Enter(loop, "b", x);
  Next(a, "a", b_.Op("Mul", "a_times_b", {a.value, b.value}));
  Next(b, "b", b_.Op("AddV2", "b_twice", {b.value, b.value}));
  End(loop);
  ASSERT_OK_AND_ASSIGN(const GradientResult first, Add({a.last}, {x}));
  const Output z = b_.Op("AddV2", "z", {first.xs[0].value, b.last});
  // a = x^(n+1) 2^(n(n-1)/2), b = x 2^n.
  const int k = GetParam();
  if (k > 5) return;  // Beyond what floats hold.
  const double scale = std::pow(2.0, k * (k - 1) / 2), value = 0.5;
  const double expected = scale * (k + 1) * k * std::pow(value, k - 1) + std::pow(2.0, k);
  const NamedTensors feeds = {{"x", Tensor::Scalar(0.5f)}, {"n", Tensor::Scalar<int32_t>(k)}};
  ASSERT_OK_AND_ASSIGN(const Values found, Gradients({z}, {x}, feeds));
  EXPECT_NEAR(found[0][0] / expected, 1, 1e-5);
}

// A variable that the body replaces by a constant has the gradient zero in all iterations but where there are none.
TEST_P(LoopGradientsTest, AVariableThatIsReplacedHasZeros) {
  const Output x = Input("x"), n = b_.Placeholder("n", DType::kInt32);
  const Loop loop = Begin("loop", n);
  const Variable v = Enter(loop, "v", x);
  Next(v, "v", b_.Op("StopGradient", "stopped", {v.value}));
  End(loop);
  const NamedTensors feeds = {{"x", Tensor::Scalar(0.5f)}, {"n", Tensor::Scalar<int32_t>(GetParam())}};
  ASSERT_OK_AND_ASSIGN(const Values found, Gradients({v.last}, {x}, feeds));
  EXPECT_THAT(found, ElementsAre(ElementsAre(GetParam() == 0 ? 1 : 0)));
}

// Squares where the counter is below 2, else multiplies by x: a conditional in a loop, whose values are pushed where
// they are live.
TEST_P(LoopGradientsTest, AConditionalInALoop) {
  const Output x = Input("x"), n = b_.Placeholder("n", DType::kInt32);
  const Loop loop = Begin("loop", n);
  const Output factor = b_.Op("Enter", "factor", {x}, Frame("loop", true));
  const Output two = b_.Op("Enter", "two/in", {Int("two", 2)}, Frame("loop", true));
  const Variable v = Enter(loop, "v", x);
  const Output early = b_.Op("Less", "early", {Nth(loop.count_gate, 1), two});
  const Output gate = Gate("inner", v.value, early);
  const Output yes = b_.Op("Square", "yes", {Nth(gate, 1)});
  const Output no = b_.Op("Mul", "no", {gate, Gate("inner_factor", factor, early)});
  Next(v, "v", b_.Op("Merge", "both", {no, yes}));
  End(loop);
  // x^k, and its derivative.
  int power = 1;
  for (int i = 0; i < GetParam(); ++i) power = i < 2 ? 2 * power : power + 1;
  const NamedTensors feeds = {{"x", Tensor::Scalar(1.1f)}, {"n", Tensor::Scalar<int32_t>(GetParam())}};
  ASSERT_OK_AND_ASSIGN(const Values found, Gradients({v.last}, {x}, feeds));
  EXPECT_NEAR(found[0][0] / (power * std::pow(1.1, power - 1)), 1, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Trips, LoopGradientsTest, ::testing::Values(0, 1, 2, 5, 40));

TEST_F(ControlFlowGradientsTest, ALoopInALoop) {
  const Output x = Input("x");
  const Loop outer = Begin("outer", Int("outer_trips", 3));
  const Variable v = Enter(outer, "v", x);
  // Two iterations inside for each outside.
  const Loop inner = Begin("inner", Invariant(outer, "inner_trips", Int("inner_trips", 2)), &outer);
  const Variable u = Enter(inner, "u", v.value);
  Next(u, "u", b_.Op("Sin", "sin", {u.value}));
  End(inner);
  Next(v, "v", b_.Op("Mul", "product", {u.last, v.value}));
  End(outer);
  double value = 0.9, derivative = 1;
  for (int i = 0; i < 3; ++i) {
    const double s = std::sin(std::sin(value)), ds = std::cos(std::sin(value)) * std::cos(value);
    derivative *= ds * value + s;
    value *= s;
  }
  ASSERT_OK_AND_ASSIGN(const Values found, Gradients({v.last}, {x}, {{"x", Tensor::Scalar(0.9f)}}));
  EXPECT_NEAR(found[0][0], derivative, 1e-5);
}

// What a loop leaves is read where a branch is dead, and elsewhere: the sum of both is live, and so is the loop.
TEST_F(ControlFlowGradientsTest, AnExitThatIsReadInABranchAndOutside) {
  const Output x = Input("x"), p = b_.Placeholder("p", DType::kBool);
  const Loop loop = Begin("loop", Int("trips", 3));
  const Variable v = Enter(loop, "v", x);
  Next(v, "v", b_.Op("Mul", "product", {v.value, Invariant(loop, "two", Number("two", 2))}));
  End(loop);
  const Output mixed = b_.Op("Mul", "mixed", {v.last, Nth(Gate("gate", x, p), 1)});
  const Output y = b_.Op("Merge", "y", {b_.Op("Identity", "no", {Gate("other", Number("k", 7), p)}), mixed});
  for (const bool taken : {true, false}) {
    ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y, v.last}, {x}, At(3, taken)));
    EXPECT_THAT(dx, ElementsAre(ElementsAre(taken ? 8 + 16 * 3 : 8))) << taken;
  }
}

// The same in each iteration, of a variable and of an invariant.
TEST_F(ControlFlowGradientsTest, ALoopsValuesThatAreReadInABranchAndOutside) {
  const Output x = Input("x"), w = Input("w");
  const Loop loop = Begin("loop", Int("trips", 2));
  const Output weight = Invariant(loop, "weight", w);
  const Variable v = Enter(loop, "v", x);
  const Output first = b_.Op("Less", "first", {Count(loop), Invariant(loop, "one", Int("one", 1))});
  const Output only_first = b_.Op("Mul", "only_first", {v.value, Nth(Gate("gate", weight, first), 1)});
  const Output again = b_.Op("Mul", "again", {weight, Nth(Gate("gate_again", v.value, first), 1)});
  const Output sum = b_.Op("AddV2", "sum", {only_first, again});
  const Output none = b_.Op("ZerosLike", "none", {Gate("gate_zero", v.value, first)});
  const Output both = b_.Op("Merge", "both", {none, sum});
  // First: 2 v w + v + w. Second: v + w.
  Next(v, "v", b_.Op("AddN", "next", {both, v.value, weight}, {{"N", 3}}));
  End(loop);
  const NamedTensors feeds = {{"x", Tensor::Scalar(3.f)}, {"w", Tensor::Scalar(5.f)}};
  ASSERT_OK_AND_ASSIGN(const Values found, Gradients({v.last}, {x, w}, feeds));
  EXPECT_THAT(found, ElementsAre(ElementsAre(2 * 5 + 1), ElementsAre(2 * 3 + 2)));
}

// The predicate in a loop is what an inner loop leaves.
TEST_F(ControlFlowGradientsTest, AConditionalOnWhatALoopInTheLoopLeaves) {
  const Output x = Input("x");
  const Loop outer = Begin("outer", Int("outer_trips", 4));
  const Variable v = Enter(outer, "v", x);
  const Loop inner = Begin("inner", Count(outer), &outer);
  const Output no = b_.Op("Less", "no", {Count(outer), Count(outer)});
  const Variable odd = Enter(inner, "odd", no);
  Next(odd, "odd", b_.Op("LogicalNot", "not", {odd.value}));
  End(inner);
  const Output gate = Gate("gate", v.value, odd.last);
  Next(v, "v", b_.Op("Merge", "both", {b_.Op("Sin", "sin", {gate}), b_.Op("Square", "square", {Nth(gate, 1)})}));
  End(outer);
  double value = 0.9, derivative = 1;
  for (int i = 0; i < 4; ++i) {
    derivative *= i % 2 == 1 ? 2 * value : std::cos(value);
    value = i % 2 == 1 ? value * value : std::sin(value);
  }
  ASSERT_OK_AND_ASSIGN(const Values found, Gradients({v.last}, {x}, {{"x", Tensor::Scalar(0.9f)}}));
  EXPECT_NEAR(found[0][0], derivative, 1e-5);
}

TEST_F(ControlFlowGradientsTest, AnExitOfAnotherValueOfTheHeadIsRefused) {
  const Output x = Input("x");
  const Loop loop = Begin("loop", Int("n", 3));
  const Variable v = Enter(loop, "v", x);
  const Output square = b_.Op("Square", "square", {v.merge});
  const Output leaves = b_.Op("Exit", "leaves", {Gate("square_gate", square, loop.condition)});
  Next(v, "v", v.value);
  End(loop);
  const absl::Status status = Add({leaves}, {x}).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "does not leave a loop variable")) << status;
}

TEST_F(ControlFlowGradientsTest, YsAndXsStandOutsideOfLoops) {
  const Output x = Input("x"), n = b_.Placeholder("n", DType::kInt32);
  const Loop loop = Begin("loop", n);
  const Variable v = Enter(loop, "v", x);
  const Output sin = b_.Op("Sin", "sin", {v.value});
  Next(v, "v", sin);
  End(loop);
  EXPECT_THAT(Add({sin}, {x}), StatusIs(absl::StatusCode::kUnimplemented, "sin"));
  EXPECT_THAT(Add({v.last}, {v.value}), StatusIs(absl::StatusCode::kUnimplemented, "v/value"));
}

}  // namespace
}  // namespace sluice

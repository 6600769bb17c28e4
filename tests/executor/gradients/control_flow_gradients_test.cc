// Gradients through conditionals and loops that were built node by node, as files hold them.

#include <cmath>

#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "graph/gradients/gradients.h"
#include "tests/executor/gradients/gradients_fixture.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Values = std::vector<std::vector<float>>;

class ControlFlowGradientsTest : public GradientsFixture {
 protected:
  static NamedTensors At(float x, bool p) { return {{"x", Tensor::Scalar(x)}, {"p", Tensor::Scalar(p)}}; }
  Output Gate(absl::string_view name, Output value, Output predicate) {
    return b_.Op("Switch", name, {value, predicate});
  }
  GraphBuilder::Attrs Frame(absl::string_view name, bool is_constant = false) {
    return {{"frame_name", name}, {"is_constant", is_constant}};
  }
  // A loop that turns `trips` times, by a counter; Begin, then Variables, then End.
  struct Loop {
    std::string name;
    Output condition, count_gate, count_merge;
  };
  Loop Begin(const std::string& name, Output trips) {
    Loop loop{name, {}, {}, {}};
    const Output limit = b_.Op("Enter", name + "/limit", {trips}, Frame(name, true));
    const Output zero = b_.Op("Enter", name + "/zero", {Int(name + "/start", 0)}, Frame(name));
    loop.count_merge = b_.Op("Merge", name + "/count", {zero, zero});
    loop.condition = b_.Op("LoopCond", name + "/cond", {b_.Op("Less", name + "/less", {loop.count_merge, limit})});
    loop.count_gate = Gate(name + "/gate", loop.count_merge, loop.condition);
    return loop;
  }
  void End(const Loop& loop) {
    const Output step = b_.Op("Enter", loop.name + "/step", {Int(loop.name + "/one", 1)}, Frame(loop.name, true));
    const Output next = b_.Op("AddV2", loop.name + "/more", {Nth(loop.count_gate, 1), step});
    b_.SetInput(loop.count_merge, 1, b_.Op("NextIteration", loop.name + "/next", {next}));
  }
  struct Variable {
    Output merge, value, last;
  };
  Variable Enter(const Loop& loop, const std::string& name, Output start) {
    const Output enter = b_.Op("Enter", name + "/enter", {start}, Frame(loop.name));
    const Output merge = b_.Op("Merge", name + "/merge", {enter, enter});
    const Output gate = Gate(name + "/switch", merge, loop.condition);
    return {merge, b_.Op("Identity", name + "/value", {Nth(gate, 1)}), b_.Op("Exit", name + "/exit", {gate})};
  }
  void Next(const Variable& variable, const std::string& name, Output next) {
    b_.SetInput(variable.merge, 1, b_.Op("NextIteration", name + "/next", {next}));
  }
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
  // Two iterations inside for each outside: v = v * v * v... by a loop of its own.
  const Output trips = b_.Op("Enter", "inner_trips/in", {Int("inner_trips", 2)}, Frame("outer", true));
  const Output limit = b_.Op("Enter", "inner/limit", {trips}, Frame("inner", true));
  const Output zero = b_.Op("Enter", "inner/zero", {b_.Op("Sub", "none", {trips, trips})}, Frame("inner"));
  const Output count = b_.Op("Merge", "inner/count", {zero, zero});
  Loop inner{"inner", b_.Op("LoopCond", "inner/cond", {b_.Op("Less", "inner/less", {count, limit})}), {}, count};
  inner.count_gate = Gate("inner/gate", count, inner.condition);
  const Output step = b_.Op("Enter", "step/in", {Int("step", 1)}, Frame("outer", true));
  const Output inner_step = b_.Op("Enter", "inner_step", {step}, Frame("inner", true));
  const Variable u = Enter(inner, "u", v.value);
  Next(u, "u", b_.Op("Sin", "sin", {u.value}));
  const Output more = b_.Op("AddV2", "inner/more", {Nth(inner.count_gate, 1), inner_step});
  b_.SetInput(count, 1, b_.Op("NextIteration", "inner/next", {more}));
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

TEST_F(ControlFlowGradientsTest, TheGradientOfALoopsGradientIsRefusedByName) {
  const Output x = Input("x"), n = b_.Placeholder("n", DType::kInt32);
  const Loop loop = Begin("loop", n);
  const Variable v = Enter(loop, "v", x);
  Next(v, "v", b_.Op("Sin", "sin", {v.value}));
  End(loop);
  ASSERT_OK_AND_ASSIGN(const GradientResult first, Add({v.last}, {x}));
  const size_t before = b_.graph().num_nodes();
  const absl::Status status = Add({first.xs[0].value}, {x}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnimplemented, "loop"));
  EXPECT_EQ(b_.graph().num_nodes(), before);
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

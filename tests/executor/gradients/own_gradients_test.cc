// Gradients that nodes have of their own: registered ones, stated ones, and calls that are computed again.

#include "graph/gradients/own_gradients.h"

#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "graph/functions/inliner.h"
#include "graph/gradients/added_gradients.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/ir/registered_gradients.h"
#include "tests/executor/gradients/gradients_fixture.h"
#include "tests/testing/function_defs.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Values = std::vector<std::vector<float>>;

const FunctionText::Attrs kFloat = {{"T", DType::kFloat}};
const FunctionText::Attrs kTwoFloats = {{"T", AttrValue(std::vector<DType>{DType::kFloat, DType::kFloat})}};

class OwnGradientsTest : public GradientsFixture {
 protected:
  static NamedTensors At(float x) { return {{"x", Tensor::Scalar(x)}}; }
  // Nodes of `op`, calls replaced.
  static int Count(Graph graph, absl::string_view op) {
    InlineOptions options;
    options.lower_unmarked = true;
    EXPECT_OK(InlineFunctionCalls(graph, options).status());
    int count = 0;
    for (const NodeId id : graph.Nodes()) count += graph.Is(id, op) ? 1 : 0;
    return count;
  }
  std::string Failure(Output y, Output x, const GradientOptions& options = {}) {
    const auto found = Add({y}, {x}, options);
    return found.ok() ? "" : FormatError(found.status());
  }
};

// --- Of types --------------------------------------------------------------------------------------------------------

class OfTypesTest : public OwnGradientsTest {
 protected:
  // y, with the gradient `type`.
  Output Wrap(absl::string_view name, std::vector<Output> values, const std::string& type) {
    return b_.Op("IdentityN", name, std::move(values), {{"_gradient_op_type", type}});
  }
};

TEST_F(OfTypesTest, TheRegisteredFunctionIsTheGradient) {
  FunctionText("Grad")
      .Arg("d0: float")
      .Arg("d1: float")
      .Result("g0: float", "zero:y:0")
      .Result("g1: float", "sum:z:0")
      .Node("zero = ZerosLike(d0)", kFloat)
      .Node("twice = AddV2(d0, d0)", kFloat)
      .Node("sum = AddV2(twice:z:0, d1)", kFloat)
      .AddTo(b_.graph());
  ASSERT_OK(b_.graph().library().AddGradient(RegisteredGradientKey("CustomGradient-7"), "Grad"));
  const Output x = Input("x");
  const Output wrapped = Wrap("wrapped", {b_.Op("Sin", "sin", {x}), x}, "CustomGradient-7");
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({wrapped}, {x}, At(1)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(2)));
}

TEST_F(OfTypesTest, ARowMayHaveTheNameOfTheType) {
  const Output x = Input("x");
  const Output relu = b_.Op("Relu", "relu", {x}, {{"_gradient_op_type", "Guided"}});
  GradientOptions options;
  options.rows = {GradientRow("Guided", [](GradientContext& c) {
    c.SetInput(0, c.dy() * 100);
    return absl::OkStatus();
  })};
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({relu}, {x}, At(-1), options));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(100)));
  // Or that of an op: a gradient_override_map.
  const Output other = b_.Op("Relu", "other", {x}, {{"_gradient_op_type", "Neg"}});
  ASSERT_OK_AND_ASSIGN(const Values of_op, Gradients({other}, {x}, At(-1)));
  EXPECT_THAT(of_op, ElementsAre(ElementsAre(-1)));
}

TEST_F(OfTypesTest, ATypeThatNobodyRegisteredIsAnError) {
  const Output x = Input("x");
  const Output wrapped = Wrap("wrapped", {x}, "CustomGradient-9");
  const int32_t before = b_.graph().id_limit();
  EXPECT_THAT(Failure(wrapped, x), ::testing::AllOf(HasSubstr("'wrapped'"), HasSubstr("'CustomGradient-9'")));
  for (int32_t i = before; i < b_.graph().id_limit(); ++i) EXPECT_FALSE(b_.graph().Contains(NodeId(i)));
}

// As tf.custom_gradient is saved: the function takes a value of the body, an argument of it, and one that the results
// of the body do not need.
class CaptureTest : public OfTypesTest {
 protected:
  CaptureTest() {
    FunctionText("Body")
        .Arg("a: float")
        .Arg("b: float")
        .Result("y: float", "wrapped:output:0")
        .Node("exp = Exp(a)", kFloat)
        .Node("square = Square(a)", kFloat)
        .Node("wrapped = IdentityN(exp:y:0, a)", {kTwoFloats[0], {"_gradient_op_type", AttrValue("CustomGradient-7")}})
        .AddTo(b_.graph());
    FunctionText("Grad")
        .Arg("d0: float")
        .Arg("d1: float")
        .Arg("exp: float")
        .Arg("b: float")
        .Arg("square: float")
        .Result("g: float", "g:sum:0")
        .Node("p = Mul(d0, exp)", kFloat)
        .Node("q = Mul(p:z:0, b)", kFloat)
        .Node("g = AddN(q:z:0, square)", {{"T", DType::kFloat}, {"N", AttrValue(2)}})
        .AddTo(b_.graph());
    custom_.op_type = "CustomGradient-7";
    custom_.function = "Grad";
    custom_.results = {-1, 0};
    custom_.captures = {{"Body", "exp:0"}, {"Body", "b:0"}, {"Body", "square:0"}};
  }
  CustomGradient custom_;
};

TEST_F(CaptureTest, ValuesOfTheBodyAreThoseOfTheSameCall) {
  const Output x = Input("x");
  const Output first = Call(b_, "first", "Body", {x, Number("b1", 10)}, {DType::kFloat});
  const Output second = Call(b_, "second", "Body", {first, Number("b2", 100)}, {DType::kFloat});
  GradientOptions options;
  options.custom = {custom_};
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({second}, {x, first}, At(0.5), options));
  const float e = std::exp(0.5f);
  const float of_second = std::exp(e) * 100 + e * e;
  EXPECT_FLOAT_EQ(dx[1][0], of_second);
  EXPECT_FLOAT_EQ(dx[0][0], of_second * e * 10 + 0.25f);
}

TEST_F(CaptureTest, AnErrorWhereAValueIsNotThere) {
  const Output x = Input("x");
  const Output y = Call(b_, "y", "Body", {x, Number("b", 10)}, {DType::kFloat});
  GradientOptions options;
  options.custom = {custom_};
  options.custom[0].captures[2].tensor = "gone:0";
  EXPECT_THAT(Failure(y, x, options), ::testing::AllOf(HasSubstr("'gone:0'"), HasSubstr("'CustomGradient-7'")));
  options.custom[0].captures.pop_back();
  EXPECT_THAT(Failure(y, x, options), HasSubstr("'Grad'"));
  // The facts of the object graph are missing.
  ASSERT_OK(b_.graph().library().AddGradient(RegisteredGradientKey("CustomGradient-7"), "Grad"));
  EXPECT_THAT(Failure(y, x), HasSubstr("object graph"));
}

// --- Stated by the library -------------------------------------------------------------------------------------------

TEST_F(OwnGradientsTest, AStatedGradientIsTakenForCallsOfBothKinds) {
  FunctionText("F").Arg("x: float").Result("y: float", "y:y:0").Node("y = Sin(x)", kFloat).AddTo(b_.graph());
  FunctionText("FGrad")
      .Arg("x: float")
      .Arg("dy: float")
      .Result("dx: float", "dx:z:0")
      .Node("dx = Mul(x, dy)", kFloat)
      .AddTo(b_.graph());
  ASSERT_OK(b_.graph().library().AddGradient("F", "FGrad"));
  const Output x = Input("x");
  const Output by_op = Call(b_, "by_op", "F", {x}, {DType::kFloat});
  const Output direct = b_.Op("F", "direct", {by_op});
  const Output y = b_.Op("Mul", "y", {direct, Number("three", 3)});
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y}, {x}, At(2)));
  EXPECT_FLOAT_EQ(dx[0][0], 3 * std::sin(2.f) * 2);
}

// --- Added to a registry ---------------------------------------------------------------------------------------------

TEST_F(OwnGradientsTest, AHostsOpMayHaveARow) {
  const auto ops = NewOpRegistry();
  ASSERT_OK_AND_ASSIGN(const OpSchema schema, OpSchemaBuilder("Thrice").Input("x: float").Output("y: float").Build());
  ASSERT_OK(ops->Add(schema));
  GraphBuilder b(ops);
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output y = b.Op("Thrice", "y", {x});
  EXPECT_THAT(FormatError(AddGradients(b.graph(), {y}, {x}).status()), HasSubstr("'y'"));
  const auto thrice = [](GradientContext& c) {
    c.SetInput(0, c.dy() * 3);
    return absl::OkStatus();
  };
  EXPECT_THAT(AddGradientFunction(ops, "Nope", thrice), IsError(ErrorCode::kOpSchema, "'Nope'"));
  EXPECT_THAT(AddGradientFunction(ops, "Sin", thrice), IsError(ErrorCode::kOpSchema, "already"));
  ASSERT_OK(AddGradientFunction(ops, "Thrice", thrice));
  EXPECT_THAT(AddGradientFunction(ops, "Thrice", thrice), IsError(ErrorCode::kOpSchema, "already"));
  GradientOptions options;  // The op has no kernel: nothing may ask for y.
  options.grad_ys = {b.Const("dy", Tensor::Scalar(5.f))};
  ASSERT_OK_AND_ASSIGN(const GradientResult found, AddGradients(b.graph(), {y}, {x}, options));
  b_.graph() = b.graph();
  ASSERT_OK_AND_ASSIGN(const Values dx, Run({found.xs[0].value}, At(1)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(15)));
}

// What a call connects has zeros, but not where the gradient of a host's op says that there is none.
TEST_F(OwnGradientsTest, NothingFlowsOnWhereAHostsGradientGivesNone) {
  const auto ops = NewOpRegistry();
  ASSERT_OK_AND_ASSIGN(const OpSchema schema,
                       OpSchemaBuilder("Second").Input("a: float").Input("b: float").Output("y: float").Build());
  ASSERT_OK(ops->Add(schema));
  ASSERT_OK(AddGradientFunction(ops, "Second", [](GradientContext& c) {
    c.SetInput(1, c.dy() * 2);
    return absl::OkStatus();
  }));
  GraphBuilder b(ops);
  SquarePlusOne().AddTo(b.graph());
  const Output x = b.Placeholder("x", DType::kFloat), w = b.Placeholder("w", DType::kFloat);
  const Output before = Call(b, "before", "SquarePlusOne", {x}, {DType::kFloat});
  const Output second = b.Op("Second", "second", {before, w});
  const Output y = Call(b, "y", "SquarePlusOne", {second}, {DType::kFloat});
  ASSERT_OK_AND_ASSIGN(const GradientResult found, AddGradients(b.graph(), {y}, {x, before, second, w}));
  EXPECT_FALSE(found.xs[0].is_set());
  EXPECT_FALSE(found.xs[1].is_set());
  EXPECT_TRUE(found.xs[2].is_set());
  EXPECT_TRUE(found.xs[3].is_set());
}

// --- Calls elsewhere -------------------------------------------------------------------------------------------------

TEST_F(OwnGradientsTest, CallsThatAreNotOnTheWayStay) {
  SquarePlusOne().AddTo(b_.graph());
  const Output x = Input("x"), other = Input("other");
  const Output y = Call(b_, "y", "SquarePlusOne", {x}, {DType::kFloat});
  const Output aside = Call(b_, "aside", "SquarePlusOne", {other}, {DType::kFloat});
  const Output lost = Call(b_, "lost", "Missing", {other}, {DType::kFloat});
  const Output sum = b_.Op("Mul", "sum", {y, aside});
  const NamedTensors feeds = {{"x", Tensor::Scalar(3.f)}, {"other", Tensor::Scalar(2.f)}};
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({sum}, {x}, feeds));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(6 * 5)));
  EXPECT_TRUE(b_.graph().Is(aside.node, "PartitionedCall"));
  EXPECT_TRUE(b_.graph().Is(lost.node, "PartitionedCall"));
  EXPECT_FALSE(b_.graph().Contains(y.node));
}

// --- Computed again --------------------------------------------------------------------------------------------------

class RecomputationTest : public OwnGradientsTest {
 protected:
  static constexpr int kDepth = 8;
  // y = tanh(tanh(...(x * w))).
  static FunctionText Layers(const std::string& name, bool is_marked = false) {
    FunctionText text(name);
    text.Arg("x: float").Arg("w: float").Node("h0 = Mul(x, w)", kFloat);
    for (int i = 1; i <= kDepth; ++i) {
      text.Node(absl::StrCat("h", i, " = Tanh(h", i - 1, i == 1 ? ":z:0)" : ":y:0)"), kFloat);
    }
    text.Result("y: float", absl::StrCat("h", kDepth, ":y:0"));
    if (is_marked) text.FunctionAttr("_recompute_grad", AttrValue(true));
    return text;
  }
  // How many values of the forward pass (nodes not below "gradients") the gradient reads, constants aside.
  int NumKept() {
    std::set<std::pair<int32_t, int32_t>> kept;
    const Graph& graph = b_.graph();
    const auto is_gradient = [&](NodeId id) { return absl::StartsWith(graph.name(id), "gradients"); };
    for (const NodeId id : graph.Nodes()) {
      if (!is_gradient(id)) continue;
      for (const Output& input : graph.inputs(id)) {
        if (!is_gradient(input.node)) kept.insert({input.node.value(), input.index});
      }
    }
    return static_cast<int>(kept.size());
  }
};

TEST_F(RecomputationTest, KeepsArgumentsOnlyAndGivesTheSameNumbers) {
  Layers("Plain").AddTo(b_.graph());
  Layers("Marked", true).AddTo(b_.graph());
  const GraphBuilder empty = b_;
  Values plain, again;
  for (const bool is_marked : {false, true}) {
    b_ = empty;
    const Output x = Input("x"), w = Number("w", 0.5);
    Output h = x;
    for (int i = 0; i < 3; ++i) {
      h = Call(b_, absl::StrCat("call", i), is_marked ? "Marked" : "Plain", {h, w}, {DType::kFloat});
    }
    ASSERT_OK_AND_ASSIGN(Values dx, Gradients({h}, {x, w}, At(0.7f)));
    (is_marked ? again : plain) = dx;
    EXPECT_EQ(Count(b_.graph(), "Tanh"), (is_marked ? 2 : 1) * 3 * kDepth);
    // Each Tanh and the arguments of each product; or the arguments of the calls. And y, whose shape the ones have.
    EXPECT_EQ(NumKept(), is_marked ? 5 : 3 * kDepth + 7) << is_marked;
  }
  EXPECT_EQ(plain, again);
}

// By name, and by the call's own attr.
TEST_F(RecomputationTest, CallsAreMarkedInThreeWays) {
  Layers("Plain").AddTo(b_.graph());
  const Output x = Input("x"), w = Number("w", 0.5);
  const Output y = Call(b_, "y", "Plain", {x, w}, {DType::kFloat});
  const GraphBuilder built = b_;
  ASSERT_OK(b_.graph().SetAttr(y.node, "_recompute_grad", AttrValue(true)));
  ASSERT_OK(Add({y}, {x}).status());
  EXPECT_EQ(Count(b_.graph(), "Tanh"), 2 * kDepth);
  b_ = built;
  GradientOptions options;
  options.recompute = {"Plain"};
  ASSERT_OK(Add({y}, {x}, options).status());
  EXPECT_EQ(Count(b_.graph(), "Tanh"), 2 * kDepth);
}

TEST_F(RecomputationTest, TheSecondComputationWaitsForTheGradient) {
  Layers("Marked", true).AddTo(b_.graph());
  const Output x = Input("x"), dy = Input("dy");
  const Output y = Call(b_, "y", "Marked", {x, Number("w", 0.5)}, {DType::kFloat});
  GradientOptions options;
  options.grad_ys = {dy};
  ASSERT_OK(Add({y}, {x}, options).status());
  Graph graph = b_.graph();
  ASSERT_OK(InlineFunctionCalls(graph, InlineOptions()).status());
  // The inputs after dy, data or not.
  std::set<int32_t> after = {dy.node.value()};
  for (size_t before = 0; before != after.size();) {
    before = after.size();
    for (const NodeId id : graph.Nodes()) {
      for (const Output& input : graph.all_inputs(id)) {
        if (after.count(input.node.value()) > 0) after.insert(id.value());
      }
    }
  }
  int num_after = 0;
  for (const NodeId id : graph.Nodes()) num_after += graph.Is(id, "Tanh") && after.count(id.value()) > 0 ? 1 : 0;
  EXPECT_EQ(num_after, kDepth);
}

TEST_F(RecomputationTest, RandomNumbersAreTheSameOrRefused) {
  const auto add = [&](const std::string& name, const std::string& node, FunctionText::Attrs attrs) {
    FunctionText text(name);
    text.Arg("x: float").Result("y: float", "y:z:0").FunctionAttr("_recompute_grad", AttrValue(true));
    text.Node("shape = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Vector<int32_t>({3})}})
        .Node("seed = Const()", {{"dtype", DType::kInt64}, {"value", Tensor::Vector<int64_t>({1, 2})}})
        .Node(node, std::move(attrs))
        .Node("y = Mul(x, mask:output:0)", kFloat)
        .AddTo(b_.graph());
  };
  add("Stateless", "mask = StatelessRandomUniform(shape:output:0, seed:output:0)",
      {{"T", DType::kInt32}, {"dtype", DType::kFloat}, {"Tseed", DType::kInt64}});
  add("Stateful", "mask = RandomUniform(shape:output:0)", {{"T", DType::kInt32}, {"dtype", DType::kFloat}});
  const Output x = b_.Const("x", Tensor::Vector<float>({1, 1, 1}));
  const Output y = Call(b_, "y", "Stateless", {x}, {DType::kFloat});
  ASSERT_OK_AND_ASSIGN(const GradientResult found, Add({y}, {x}));
  ASSERT_OK_AND_ASSIGN(const Values values, Run({y, found.xs[0].value}, {}));
  EXPECT_EQ(values[0], values[1]);
  const Output other = Call(b_, "other", "Stateful", {x}, {DType::kFloat});
  const size_t functions = b_.graph().library().size();
  EXPECT_THAT(Failure(other, x), ::testing::AllOf(HasSubstr("'other'"), HasSubstr("'RandomUniform'")));
  EXPECT_EQ(b_.graph().library().size(), functions);
}

TEST_F(RecomputationTest, InLoopsAndNested) {
  Layers("Marked", true).AddTo(b_.graph());
  LessThanTen().AddTo(b_.graph());
  // Outer(x) = Marked(x, 0.5) * x, computed again too.
  FunctionText("Outer")
      .Arg("x: float")
      .Result("y: float", "y:z:0")
      .Node("w = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(0.5f)}})
      .Node("inner = Marked(x, w:output:0)")
      .Node("y = Mul(inner:y:0, x)", kFloat)
      .FunctionAttr("_recompute_grad", AttrValue(true))
      .AddTo(b_.graph());
  FunctionText("Step")
      .Arg("x: float")
      .Result("y: float", "y:z:0")
      .Node("outer = Outer(x)")
      .Node("y = AddV2(outer:y:0, x)", kFloat)
      .AddTo(b_.graph());
  const Output x = Input("x");
  const Output y =
      b_.Op("While", "y", {x}, {{"cond", AttrValue::Func("LessThanTen")}, {"body", AttrValue::Func("Step")}});
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({y}, {x}, At(7)));
  const auto value = [](double from) {
    while (from < 10) {
      double h = from * 0.5;
      for (int i = 0; i < kDepth; ++i) h = std::tanh(h);
      from += h * from;
    }
    return from;
  };
  EXPECT_NEAR(dx[0][0], (value(7 + 1e-5) - value(7 - 1e-5)) / 2e-5, 1e-3);
}

}  // namespace
}  // namespace sluice

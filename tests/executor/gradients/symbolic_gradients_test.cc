// SymbolicGradient nodes, run by sessions.

#include "graph/gradients/symbolic_gradients.h"

#include <cmath>

#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "tests/executor/gradients/gradients_fixture.h"
#include "tests/testing/function_defs.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<std::vector<float>>;

class SymbolicGradientsTest : public GradientsFixture {
 protected:
  // p = a * b, q = sin(a), in float.
  static FunctionText ProductAndSine() {
    const FunctionText::Attrs of_float = {{"T", DType::kFloat}};
    return FunctionText("ProductAndSine")
        .Arg("a: float")
        .Arg("b: float")
        .Result("p: float", "p:z:0")
        .Result("q: float", "q:y:0")
        .Node("p = Mul(a, b)", of_float)
        .Node("q = Sin(a)", of_float);
  }
  // dx = the gradient of x * x.
  void AddSlope() {
    const FunctionText::Attrs of_float = {{"T", DType::kFloat}};
    FunctionText("Slope")
        .Arg("x: float")
        .Result("dx: float", "dx:output:0")
        .Node("one = OnesLike(x)", of_float)
        .Node("dx = SymbolicGradient(x, one:y:0)",
              {{"f", AttrValue::Func("Square", of_float)},
               {"Tin", AttrValue(std::vector<DType>{DType::kFloat, DType::kFloat})},
               {"Tout", AttrValue(float_)}})
        .AddTo(b_.graph());
  }
  Output Gradient(absl::string_view name, const std::string& f, std::vector<Output> inputs, std::vector<DType> types,
                  FunctionDefBuilder::Attrs attrs = {}) {
    return b_.Op("SymbolicGradient", name, std::move(inputs),
                 {{"f", AttrValue::Func(f, attrs)}, {"Tout", AttrValue(types)}});
  }
  // The message of the error of running `output`.
  std::string Failure(Output output, const NamedTensors& feeds) {
    const auto values = Run({output}, feeds);
    return values.ok() ? "" : FormatError(values.status());
  }
  static NamedTensors At(float x) { return {{"x", Tensor::Scalar(x)}}; }
  const std::vector<DType> float_ = {DType::kFloat};
};

TEST_F(SymbolicGradientsTest, GivesTheGradientOfEachArgument) {
  ProductAndSine().AddTo(b_.graph());
  const Output a = Input("x"), b = Number("b", 5);
  const Output grad =
      Gradient("grad", "ProductAndSine", {a, b, Number("dp", 2), Number("dq", 10)}, {DType::kFloat, DType::kFloat});
  ASSERT_OK_AND_ASSIGN(const Values dx, Run({grad, Nth(grad, 1)}, At(3)));
  EXPECT_FLOAT_EQ(dx[0][0], 2 * 5 + 10 * std::cos(3.f));
  EXPECT_FLOAT_EQ(dx[1][0], 2 * 3);
}

// One is the argument of the other, which stands before it in the graph.
TEST_F(SymbolicGradientsTest, TheGradientOfAnOpAndOneThatFeedsAnother) {
  const Output x = Input("x"), one = Number("one", 1);
  const Output inner = Gradient("inner", "Sin", {x, one}, float_, {{"T", DType::kFloat}});
  const Output outer = Gradient("outer", "Square", {inner, one}, float_, {{"T", DType::kFloat}});
  ASSERT_OK_AND_ASSIGN(const Values dx, Run({outer}, At(2)));
  EXPECT_FLOAT_EQ(dx[0][0], 2 * std::cos(2.f));
}

TEST_F(SymbolicGradientsTest, WhatHasNoGradientGivesZeros) {
  FunctionText("Pick")
      .Arg("x: float")
      .Arg("i: int32")
      .Arg("u: float")
      .Result("y: float", "y:output:0")
      .Node("axis = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(0)}})
      .Node("y = GatherV2(x, i, axis:output:0)",
            {{"Tparams", DType::kFloat}, {"Tindices", DType::kInt32}, {"Taxis", DType::kInt32}})
      .AddTo(b_.graph());
  const Output x = Input("x"), u = b_.Const("u", Tensor::Vector<float>({8, 9}));
  const Output grad =
      Gradient("grad", "Pick", {x, Int("i", 1), u, Number("dy", 4)}, {DType::kFloat, DType::kInt32, DType::kFloat});
  const Output of_i = b_.Op("Cast", "of_i", {Nth(grad, 1)}, {{"DstT", DType::kFloat}});
  ASSERT_OK_AND_ASSIGN(const Values dx, Run({grad, of_i, Nth(grad, 2)}, {{"x", Tensor::Vector<float>({1, 2, 3})}}));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(0, 4, 0), ElementsAre(0), ElementsAre(0, 0)));
}

TEST_F(SymbolicGradientsTest, TheFunctionThatTheLibraryStatesIsCalled) {
  ProductAndSine().AddTo(b_.graph());
  const FunctionText::Attrs of_float = {{"T", DType::kFloat}};
  FunctionText("Stated")
      .Arg("a: float")
      .Arg("b: float")
      .Arg("dp: float")
      .Arg("dq: float")
      .Result("da: float", "da:z:0")
      .Result("db: float", "db:z:0")
      .Node("da = AddV2(a, dp)", of_float)
      .Node("db = AddV2(b, dq)", of_float)
      .AddTo(b_.graph());
  ASSERT_OK(b_.graph().library().AddGradient("ProductAndSine", "Stated"));
  const Output grad = Gradient("grad", "ProductAndSine", {Input("x"), Number("b", 5), Number("dp", 2), Number("dq", 7)},
                               {DType::kFloat, DType::kFloat});
  ASSERT_OK_AND_ASSIGN(const Values dx, Run({grad, Nth(grad, 1)}, At(3)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(5), ElementsAre(12)));
}

// In a function that is called, and in a branch.
TEST_F(SymbolicGradientsTest, StandsInBodies) {
  AddSlope();
  Negate().AddTo(b_.graph());
  const Output x = Input("x");
  const Output called = Call(b_, "called", "Slope", {x}, {DType::kFloat});
  const Output chosen = b_.Op("If", "chosen", {b_.Const("p", Tensor::Scalar(true)), x},
                              {{"Tout", AttrValue(float_)},
                               {"then_branch", AttrValue::Func("Slope")},
                               {"else_branch", AttrValue::Func("Negate")}});
  ASSERT_OK_AND_ASSIGN(const Values dx, Run({called, chosen}, At(3)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(6), ElementsAre(6)));
}

// TensorFlow refuses this.
TEST_F(SymbolicGradientsTest, HasAGradientItself) {
  const Output x = Input("x");
  const Output slope = Gradient("slope", "Square", {x, Number("one", 1)}, float_, {{"T", DType::kFloat}});
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({b_.Op("Square", "y", {slope})}, {x}, At(3)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(24)));
  EXPECT_TRUE(b_.graph().Find("slope").valid());
}

TEST_F(SymbolicGradientsTest, HasAGradientInBodiesToo) {
  AddSlope();
  const Output x = Input("x");
  ASSERT_OK_AND_ASSIGN(const Values dx, Gradients({Call(b_, "y", "Slope", {x}, {DType::kFloat})}, {x}, At(3)));
  EXPECT_THAT(dx, ElementsAre(ElementsAre(2)));
}

TEST_F(SymbolicGradientsTest, ErrorsNameTheNodeAndWhatIsWrong) {
  ProductAndSine().AddTo(b_.graph());
  const Output x = Input("x");
  EXPECT_THAT(Failure(Gradient("unknown", "Nope", {x, x}, float_), At(1)),
              ::testing::AllOf(HasSubstr("'unknown'"), HasSubstr("'Nope'")));
  EXPECT_THAT(Failure(Gradient("of_itself", "SymbolicGradient", {x, x}, float_), At(1)), HasSubstr("'of_itself'"));
  EXPECT_THAT(Failure(Gradient("short", "ProductAndSine", {x, x, x}, {DType::kFloat, DType::kFloat}), At(1)),
              ::testing::AllOf(HasSubstr("'short'"), HasSubstr("'ProductAndSine'")));
  EXPECT_THAT(Failure(Gradient("none", "PopulationCount", {Int("i", 1), b_.Const("d", Tensor::Scalar<uint8_t>(1))},
                               {DType::kFloat}, {{"T", DType::kInt32}}),
                      At(1)),
              HasSubstr("'none'"));
}

}  // namespace
}  // namespace sluice

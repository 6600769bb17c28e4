#include "graph/functions/graph_to_function.h"

#include <string>

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/graph_equal.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Instantiating, writing back and instantiating again gives the same graph.
void ExpectRoundTrip(const FunctionText& text) {
  Graph graph(NewOpRegistry());
  text.AddTo(graph);
  const std::string name = graph.library().Names()[0];
  ASSERT_OK_AND_ASSIGN(const FunctionGraph first, InstantiateFunction(graph, name));
  ASSERT_OK_AND_ASSIGN(const auto function, GraphToFunction(first, name));
  Graph second(NewOpRegistry());
  ASSERT_OK(second.library().Add(function));
  ASSERT_OK_AND_ASSIGN(FunctionGraph again, InstantiateFunction(second, name));
  again.graph.library() = first.graph.library();
  again.graph.versions() = first.graph.versions();
  std::string why;
  EXPECT_TRUE(GraphsEqual(first.graph, again.graph, &why)) << why;
  EXPECT_EQ(first.control_results.size(), again.control_results.size());
}

TEST(GraphToFunctionTest, RoundTripKeepsTheBody) {
  ExpectRoundTrip(SquarePlusOne());
  ExpectRoundTrip(Bump());
  FunctionText text("Cut");
  text.Arg("a: float").Result("r: float", "s:output:2").Result("q: float", "a");
  text.Node("axis = Const()", {{"dtype", DType::kInt32}, {"value", Tensor::Scalar<int32_t>(0)}});
  text.Node("s = Split(axis:output:0, a, ^first) @ /device:CPU:0", {{"T", DType::kFloat}, {"num_split", 3}});
  ExpectRoundTrip(text.Node("first = NoOp(^a)"));
}

TEST(GraphToFunctionTest, PlaceholdersOfAGraphBecomeArguments) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("net/X", DType::kFloat);
  const Output y = b.Op("Relu", "net/y", {x});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  FunctionSpec spec;
  spec.name = "Net";
  spec.args = {x};
  spec.results = {y, y};
  ASSERT_OK_AND_ASSIGN(const auto function, GraphToFunction(graph, spec));
  EXPECT_EQ(function->schema.inputs[0].name, "net_x");
  EXPECT_EQ(function->schema.outputs[1].name, "net_y_1");
  ASSERT_EQ(function->nodes.size(), 1u);
  EXPECT_EQ(function->nodes[0].inputs[0], "net_x");
  EXPECT_FALSE(function->schema.is_stateful);
}

TEST(GraphToFunctionTest, BodiesWaitForArgumentsByTheirNewNames) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("net/X", DType::kFloat), before = b.Op("NoOp", "before");
  const Output one = b.Const("one", Tensor::Scalar(1.0f));
  b.AddControl(one, x);
  b.AddControl(one, before);
  FunctionSpec spec;
  spec.name = "F";
  spec.args = {x};
  spec.results = {one};
  ASSERT_OK_AND_ASSIGN(const auto function, GraphToFunction(b.graph(), spec));
  ASSERT_EQ(function->nodes.size(), 2u);
  EXPECT_EQ(function->nodes[1].inputs, (std::vector<absl::string_view>{"^net_x", "^before"}));
  ASSERT_OK(b.graph().library().Add(function));
  EXPECT_OK(InstantiateFunction(b.graph(), "F").status());
}

// A value that goes straight through is the argument itself, not an output of a node with its name.
TEST(GraphToFunctionTest, AnArgumentMayBeAResult) {
  GraphBuilder b(NewOpRegistry());
  FunctionSpec spec;
  spec.name = "F";
  spec.args = {b.Placeholder("net/X", DType::kFloat)};
  spec.results = spec.args;
  ASSERT_OK_AND_ASSIGN(const auto function, GraphToFunction(b.graph(), spec));
  ASSERT_OK(b.graph().library().Add(function));
  EXPECT_OK(InstantiateFunction(b.graph(), "F").status());
}

TEST(GraphToFunctionTest, OtherOutputsOfAnArgumentsNodeAreRefused) {
  GraphBuilder b(NewOpRegistry());
  const Output split = b.Op("Unpack", "split", {b.Placeholder("x", DType::kFloat)}, {{"num", 2}});
  const Output sum = b.Op("AddV2", "sum", {split, GraphBuilder::Nth(split, 1)});
  FunctionSpec spec;
  spec.name = "F";
  spec.args = {split};
  spec.results = {sum};
  EXPECT_THAT(GraphToFunction(b.graph(), spec), IsError(ErrorCode::kFunctionBody, "Unpack 'split'"));
}

}  // namespace
}  // namespace sluice

#include "graph/ir/builder.h"

#include <string>
#include <vector>

#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(GraphBuilderTest, TypesAndCountsFollowFromInputs) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat), y = b.Placeholder("y", DType::kFloat);
  const Output sum = b.Op("AddN", "sum", {x, y, x});
  const Output list = b.Op("IdentityN", "list", {x, b.Placeholder("i", DType::kInt32)});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  EXPECT_EQ(*graph.GetInt(sum.node, "N"), 3);
  EXPECT_EQ(*graph.GetType(sum.node, "T"), DType::kFloat);
  EXPECT_EQ(graph.output_type(list.node, 1), DType::kInt32);
}

TEST(GraphBuilderTest, ConstantsHoldTheirTensor) {
  GraphBuilder b(NewOpRegistry());
  const Output c = b.Const("c", Tensor::Vector<int32_t>({1, 2, 3}));
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const AttrView value, graph.GetAttr(c.node, "value"));
  EXPECT_NE(value.ToString().find("1, 2, 3"), std::string::npos) << value.ToString();
}

TEST(GraphBuilderTest, ControlsMayStandAmongInputs) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output y = b.Op("Relu", "", {x, GraphBuilder::Control(x)});
  EXPECT_EQ(b.graph().name(y.node), "Relu");
  EXPECT_EQ(b.graph().controls(y.node).size(), 1u);
  EXPECT_EQ(b.graph().name(b.Op("Relu", "", {x}).node), "Relu_1");
}

TEST(GraphBuilderTest, LoopsAreClosedAfterwards) {
  GraphBuilder b(NewOpRegistry());
  const Output enter = b.Op("Enter", "enter", {b.Placeholder("x", DType::kFloat)}, {{"frame_name", "f"}});
  const Output merge = b.Op("Merge", "merge", {enter, Output{NodeId(-1), 0}});
  b.SetInput(merge, 1, b.Op("NextIteration", "next", {merge}));
  EXPECT_OK(b.Build());
}

TEST(GraphBuilderTest, OpenInputsAndCyclesAreRefused) {
  GraphBuilder open(NewOpRegistry());
  open.Op("Merge", "merge", {open.Placeholder("x", DType::kFloat), Output{NodeId(-1), 0}});
  EXPECT_THAT(open.Build(), IsError(ErrorCode::kInputCount, "'merge'"));
  GraphBuilder ring(NewOpRegistry());
  const Output a = ring.Op("Relu", "a", {ring.Placeholder("x", DType::kFloat)});
  ring.SetInput(a, 0, ring.Op("Relu", "b", {a}));
  EXPECT_THAT(ring.Build(), IsError(ErrorCode::kCycle));
}

TEST(GraphBuilderTest, TheFirstErrorSticks) {
  GraphBuilder b(NewOpRegistry());
  const Output bad = b.Op("Nope", "bad");
  EXPECT_FALSE(bad.is_set());
  b.Op("Relu", "later", {bad});
  EXPECT_THAT(b.Build(), IsError(ErrorCode::kOpUnknown, "'bad'"));
}

TEST(GraphBuilderTest, InputsFromRemovedNodesAreFound) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat);
  b.Op("Merge", "m", {x, x});
  b.graph().RemoveNode(x.node);
  EXPECT_THAT(b.Build(), IsError(ErrorCode::kInputUnknown, "'m'"));
}

TEST(GraphBuilderTest, ConstantsThatNoFileCanHoldAreErrors) {
  GraphBuilder none(NewOpRegistry());
  none.Const("c", Tensor());
  EXPECT_THAT(none.Build(), IsError(ErrorCode::kWrongUse, "'c'"));
  GraphBuilder variants(NewOpRegistry());
  ASSERT_OK_AND_ASSIGN(const Tensor variant, Tensor::MakeZeros(DType::kVariant, Shape()));
  variants.Const("v", variant);
  EXPECT_THAT(variants.Build(), IsError(ErrorCode::kWrongUse, "variants"));
}

}  // namespace
}  // namespace sluice

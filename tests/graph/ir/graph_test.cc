#include "graph/ir/graph.h"

#include <memory>
#include <string>

#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class GraphTest : public ::testing::Test {
 protected:
  NodeId Add(NodeSpec spec) {
    const absl::StatusOr<NodeId> id = graph_.AddNode(spec);
    EXPECT_OK(id);
    return id.ok() ? *id : NodeId(-1);
  }
  NodeId Input(absl::string_view name, DType dtype = DType::kFloat) {
    return Add({name, "Placeholder", {}, {}, {{"dtype", dtype}}, ""});
  }
  NodeId Unary(absl::string_view name, absl::string_view op, Output input, DType dtype = DType::kFloat) {
    return Add({name, op, {input}, {}, {{"T", dtype}}, ""});
  }

  Graph graph_{NewOpRegistry()};
};

TEST_F(GraphTest, NodesAreFoundByName) {
  const NodeId x = Input("x");
  EXPECT_EQ(graph_.Find("x"), x);
  EXPECT_FALSE(graph_.Contains(graph_.Find("y")));
  EXPECT_EQ(graph_.name(x), "x");
  EXPECT_EQ(graph_.op_name(x), "Placeholder");
  EXPECT_EQ(graph_.output_type(x, 0), DType::kFloat);
}

TEST_F(GraphTest, SecondNodeOfANameIsRefused) {
  Input("x");
  EXPECT_THAT(graph_.AddNode({"x", "NoOp", {}, {}, {}, ""}), IsError(ErrorCode::kNodeDuplicate, "'x'"));
  EXPECT_EQ(graph_.num_nodes(), 1u);
}

TEST_F(GraphTest, WrongTypeNamesNodeInputAndBothTypes) {
  const NodeId x = Input("x", DType::kInt32);
  const auto status = graph_.AddNode({"y", "Relu", {Output{x, 0}}, {}, {{"T", DType::kFloat}}, ""}).status();
  EXPECT_THAT(status, IsError(ErrorCode::kInputType, "'y'"));
  const auto info = ErrorInfoOf(status);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->input, 0);
  EXPECT_EQ(info->input_name, "x");
  EXPECT_EQ(info->found, "int32");
  EXPECT_EQ(info->expected, "float32");
}

TEST_F(GraphTest, ReferenceFitsValueButNotTheReverse) {
  const NodeId v = Add({"v", "VariableV2", {}, {}, {{"dtype", DType::kFloat}, {"shape", Shape()}}, ""});
  const NodeId x = Input("x");
  Unary("read", "Identity", Output{v, 0});
  const auto assign = graph_.AddNode({"a", "Assign", {Output{x, 0}, Output{x, 0}}, {}, {{"T", DType::kFloat}}, ""});
  EXPECT_THAT(assign, IsError(ErrorCode::kInputRef, "'a'"));
}

TEST_F(GraphTest, InputsAndControlsStandApart) {
  const NodeId x = Input("x"), y = Input("y");
  const NodeId sum = Add({"sum", "AddV2", {Output{x, 0}, Output{y, 0}}, {x, y, x}, {{"T", DType::kFloat}}, ""});
  EXPECT_EQ(graph_.inputs(sum).size(), 2u);
  EXPECT_EQ(graph_.controls(sum).size(), 2u);  // The repeated one counts once.
  graph_.RemoveControl(sum, x);
  ASSERT_EQ(graph_.controls(sum).size(), 1u);
  EXPECT_EQ(graph_.controls(sum)[0].node, y);
}

TEST_F(GraphTest, ControlsGrowBesideOtherNodes) {
  const NodeId x = Input("x");
  const NodeId a = Add({"a", "NoOp", {}, {}, {}, ""}), b = Unary("b", "Relu", Output{x, 0});
  for (int i = 0; i < 100; ++i) graph_.AddControl(a, Add({"c" + std::to_string(i), "NoOp", {}, {}, {}, ""}));
  EXPECT_EQ(graph_.controls(a).size(), 100u);
  EXPECT_EQ(graph_.inputs(b)[0], (Output{x, 0}));
}

TEST_F(GraphTest, AttrsFallBackToTheDefaultsOfTheOp) {
  const NodeId x = Input("x");
  const NodeId m = Add({"m", "MatMul", {Output{x, 0}, Output{x, 0}}, {}, {{"T", DType::kFloat}}, ""});
  EXPECT_EQ(*graph_.GetBool(m, "transpose_a"), false);
  EXPECT_EQ(graph_.attrs(m).size(), 1u);
  ASSERT_OK(graph_.SetAttr(m, "transpose_a", true));
  EXPECT_EQ(*graph_.GetBool(m, "transpose_a"), true);
  EXPECT_THAT(graph_.GetInt(m, "nothing"), IsError(ErrorCode::kAttrMissing, "'m'"));
  EXPECT_THAT(graph_.GetInt(m, "transpose_a"), IsError(ErrorCode::kAttrKind, "'transpose_a'"));
}

TEST_F(GraphTest, AttrsAreCheckedAgainstTheOp) {
  EXPECT_THAT(graph_.AddNode({"c", "Const", {}, {}, {{"dtype", DType::kFloat}}, ""}),
              IsError(ErrorCode::kAttrRequired, "'value'"));
  EXPECT_THAT(graph_.AddNode({"p", "Placeholder", {}, {}, {}, ""}), IsError(ErrorCode::kAttrMissing, "'dtype'"));
  EXPECT_THAT(graph_.AddNode({"p", "Placeholder", {}, {}, {{"dtype", "float"}}, ""}),
              IsError(ErrorCode::kAttrKind, "'dtype'"));
}

TEST_F(GraphTest, RemovedNodesLeaveAHoleAndFreeTheirName) {
  const NodeId x = Input("x"), y = Input("y");
  graph_.RemoveNode(x);
  EXPECT_FALSE(graph_.Contains(x));
  EXPECT_TRUE(graph_.Contains(y));
  EXPECT_EQ(graph_.num_nodes(), 1u);
  EXPECT_NE(Input("x"), x);
}

TEST_F(GraphTest, RenamingKeepsEdges) {
  const NodeId x = Input("x"), y = Unary("y", "Relu", Output{x, 0});
  ASSERT_OK(graph_.Rename(x, "z"));
  EXPECT_EQ(graph_.Find("z"), x);
  EXPECT_FALSE(graph_.Contains(graph_.Find("x")));
  EXPECT_EQ(graph_.OutputName(graph_.inputs(y)[0]), "z");
  EXPECT_THAT(graph_.Rename(x, "y"), IsError(ErrorCode::kNodeDuplicate));
}

TEST_F(GraphTest, CopiesAreIndependent) {
  const NodeId x = Input("x");
  Graph copy = graph_;
  ASSERT_OK(copy.Rename(x, "renamed"));
  ASSERT_OK(copy.AddNode({"more", "NoOp", {}, {}, {}, ""}));
  EXPECT_EQ(graph_.name(x), "x");
  EXPECT_FALSE(graph_.Contains(graph_.Find("more")));
}

TEST_F(GraphTest, UniqueNamesAreFreeHoweverManyAreTaken) {
  EXPECT_EQ(graph_.UniqueName("n"), "n");
  for (int i = 0; i < 1000; ++i) Add({graph_.UniqueName("n"), "NoOp", {}, {}, {}, ""});
  EXPECT_FALSE(graph_.Contains(graph_.Find(graph_.UniqueName("n"))));
}

TEST_F(GraphTest, EndpointsAreFoundByText) {
  const NodeId x = Input("x");
  const NodeId s =
      Add({"s", "Switch", {Output{x, 0}, Output{Input("p", DType::kBool), 0}}, {}, {{"T", DType::kFloat}}, ""});
  EXPECT_EQ(*graph_.FindOutput("s:1"), (Output{s, 1}));
  EXPECT_EQ(*graph_.FindOutput("^s"), (Output{s, kControlIndex}));
  EXPECT_THAT(graph_.FindOutput("s:2"), IsError(ErrorCode::kInputSlot, "'s'"));
  EXPECT_THAT(graph_.FindOutput("t"), IsError(ErrorCode::kInputUnknown, "'t'"));
}

}  // namespace
}  // namespace sluice

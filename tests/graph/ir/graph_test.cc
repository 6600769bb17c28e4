#include "graph/ir/graph.h"

#include <memory>
#include <string>

#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/instruction_count.h"
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
  for (int i = 0; i < 100; ++i) {
    EXPECT_OK(graph_.AddControl(a, Add({"c" + std::to_string(i), "NoOp", {}, {}, {}, ""})));
  }
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

// --- Changes that would break the graph ---------------------------------------------------------------------------

TEST_F(GraphTest, SetAttrKeepsTypesOfEdges) {
  const NodeId x = Input("x");
  const NodeId y = Unary("y", "Identity", Output{x, 0});
  Unary("z", "Identity", Output{y, 0});
  EXPECT_THAT(graph_.SetAttr(y, "T", DType::kInt32), IsError(ErrorCode::kInputType, "'y'"));
  // The producer's outputs are as much at stake.
  EXPECT_THAT(graph_.SetAttr(x, "dtype", DType::kInt32), IsError(ErrorCode::kInputType, "'y'"));
  EXPECT_EQ(graph_.output_type(x, 0), DType::kFloat);
  EXPECT_EQ(*graph_.GetType(x, "dtype"), DType::kFloat);
  ASSERT_OK(graph_.SetInput(y, 0, Output()));
  EXPECT_THAT(graph_.SetAttr(y, "T", DType::kInt32), IsError(ErrorCode::kInputType, "'z'"));
  ASSERT_OK(graph_.SetAttr(x, "dtype", DType::kInt32));  // Nothing reads it now.
  EXPECT_EQ(graph_.output_type(x, 0), DType::kInt32);
}

TEST_F(GraphTest, SetAttrKeepsOutputsThatAreRead) {
  const NodeId x = Input("x");
  const NodeId parts = Add(
      {"parts", "Unpack", {Output{x, 0}}, {}, {{"T", DType::kFloat}, {"num", int64_t{3}}, {"axis", int64_t{0}}}, ""});
  Unary("y", "Relu", Output{parts, 2});
  EXPECT_THAT(graph_.SetAttr(parts, "num", int64_t{2}), IsError(ErrorCode::kInputType, "'y'"));
  EXPECT_OK(graph_.SetAttr(parts, "num", int64_t{4}));
  EXPECT_EQ(graph_.num_outputs(parts), 4);
}

TEST_F(GraphTest, RemoveAttrLeavesADefaultOrIsRefused) {
  const NodeId x = Input("x");
  const NodeId m = Add({"m", "MatMul", {Output{x, 0}, Output{x, 0}}, {}, {{"T", DType::kFloat}}, ""});
  ASSERT_OK(graph_.SetAttr(m, "transpose_a", true));
  ASSERT_OK(graph_.RemoveAttr(m, "transpose_a"));
  EXPECT_FALSE(*graph_.GetBool(m, "transpose_a"));
  EXPECT_OK(graph_.RemoveAttr(m, "was never there"));
  EXPECT_THAT(graph_.RemoveAttr(m, "T"), IsError(ErrorCode::kAttrMissing, "'T'"));
  EXPECT_EQ(*graph_.GetType(m, "T"), DType::kFloat);
  // A default of another type than the edges have.
  const NodeId shape =
      Add({"shape", "Shape", {Output{x, 0}}, {}, {{"T", DType::kFloat}, {"out_type", DType::kInt64}}, ""});
  Unary("reader", "Identity", Output{shape, 0}, DType::kInt64);
  EXPECT_THAT(graph_.RemoveAttr(shape, "out_type"), IsError(ErrorCode::kInputType, "'reader'"));
}

TEST_F(GraphTest, NodesThatAreNotThereAreErrors) {
  const NodeId x = Input("x"), y = Unary("y", "Relu", Output{x, 0});
  const NodeId gone = Add({"gone", "NoOp", {}, {}, {}, ""});
  graph_.RemoveNode(gone);
  graph_.RemoveNode(gone);
  EXPECT_EQ(graph_.op_name(gone), "");
  for (const NodeId id : {gone, NodeId(-1), NodeId(77)}) {
    const auto is_missing = IsError(ErrorCode::kNodeMissing, "");
    EXPECT_THAT(graph_.AddControl(id, x), is_missing);
    EXPECT_THAT(graph_.AddControl(x, id), is_missing);
    EXPECT_THAT(graph_.SetInput(id, 0, Output{x, 0}), is_missing);
    EXPECT_THAT(graph_.SetInputs(id, {}, {}), is_missing);
    EXPECT_THAT(graph_.SetAttr(id, "T", DType::kFloat), is_missing);
    EXPECT_THAT(graph_.RemoveAttr(id, "T"), is_missing);
    EXPECT_THAT(graph_.Rename(id, "other"), is_missing);
    if (id != gone) {  // Rewrites replace controls by removed nodes later.
      EXPECT_THAT(graph_.SetInputs(y, {Output{x, 0}}, {id}), is_missing);
      EXPECT_THAT(graph_.AddNode({"n", "NoOp", {}, {id}, {}, ""}).status(), is_missing);
    }
    if (id.valid()) {
      EXPECT_THAT(graph_.SetInput(y, 0, Output{id, 0}), IsError(ErrorCode::kInputSlot, "'y'"));
    }
    graph_.RemoveControl(id, x);
    graph_.RemoveControl(x, id);
    graph_.RemoveAllControls(id);
  }
  EXPECT_EQ(graph_.num_nodes(), 2u);
}

TEST_F(GraphTest, ManyControlInputsStayDistinct) {
  constexpr int kCount = 100'000;  // With a search through the list for each, five thousand million comparisons.
  const NodeId all = Add({"all", "NoOp", {}, {}, {}, ""});
  std::vector<NodeId> nodes;
  for (int i = 0; i < kCount; ++i) nodes.push_back(Add({"c" + std::to_string(i), "NoOp", {}, {}, {}, ""}));
  for (int round = 0; round < 2; ++round) {
    for (const NodeId node : nodes) ASSERT_OK(graph_.AddControl(all, node));
    EXPECT_EQ(graph_.controls(all).size(), static_cast<size_t>(kCount));
  }
  graph_.RemoveControl(all, nodes[5]);
  ASSERT_OK(graph_.AddControl(all, nodes[7]));
  EXPECT_EQ(graph_.controls(all).size(), static_cast<size_t>(kCount - 1));
  ASSERT_OK(graph_.AddControl(all, nodes[5]));
  EXPECT_EQ(graph_.controls(all).size(), static_cast<size_t>(kCount));
  graph_.RemoveAllControls(all);
  ASSERT_OK(graph_.AddControl(all, nodes[5]));
  EXPECT_EQ(graph_.controls(all).size(), 1u);
}

#ifdef SLUICE_COUNTS_NEW  // Instructions are not counted under sanitizers, either.

// A node may read its own outputs, as its id is known before: each such edge is looked at a few times, not all of them
// for each.
TEST_F(GraphTest, EdgesOfANodeToItselfTakeTimeInProportion) {
  Add({"like_all", "AddN", {Output{Input("x"), 0}}, {}, {{"T", DType::kFloat}, {"N", 1}}, ""});
  const auto instructions = [&](size_t count) {
    NodeSpec spec = {"loop", "AddN", {}, {}, {{"T", DType::kFloat}, {"N", static_cast<int64_t>(count)}}, ""};
    spec.inputs.assign(count, Output{NodeId(graph_.id_limit()), 0});
    return CountInstructions([&] { EXPECT_OK(graph_.AddNode(spec)); }).all;
  };
  const int64_t once = instructions(16), twice = instructions(32), four_times = instructions(64);
  EXPECT_LT(four_times - twice, 5 * (twice - once) / 2 + 500) << once << " " << twice << " " << four_times;
}

#endif  // SLUICE_COUNTS_NEW

TEST_F(GraphTest, KeptAttrsAreNotCopied) {
  const auto owner = std::make_shared<const AttrValue>(std::string(1 << 18, 'x'));
  const size_t before = graph_.MemoryBytes();
  NodeSpec spec;
  spec.op = "NoOp";
  spec.attrs = {{"_small", true}};
  spec.kept_attrs = {{"_blob", owner->view()}};
  spec.source_owner = owner;
  for (const char* name : {"a", "b", "c"}) {
    spec.name = name;
    const NodeId id = Add(spec);
    EXPECT_EQ(graph_.GetAttr(id, "_blob")->bytes().data(), owner->bytes().data());
  }
  EXPECT_LT(graph_.MemoryBytes() - before, size_t{1} << 18);
  EXPECT_EQ(owner.use_count(), 3);  // This one, the spec's, the graph's.
  const Graph copy = graph_;
  EXPECT_EQ(owner.use_count(), 4);
}

}  // namespace
}  // namespace sluice

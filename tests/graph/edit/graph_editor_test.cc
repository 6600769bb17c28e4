// Three users of GraphEditor – a rewrite, the gradient of an op, the import of a delta – and what must not break.

#include "graph/edit/graph_editor.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/edit/validate.h"
#include "graph/ir/builder.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class GraphEditorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GraphBuilder b(NewOpRegistry());
    const Output x = b.Placeholder("x", DType::kFloat), w = b.Placeholder("w", DType::kFloat);
    const Output product = b.Op("MatMul", "product", {x, w}, {{"transpose_b", true}});
    b.SetDevice(product, "/device:CPU:0");
    const Output loss = b.Op("L2Loss", "loss", {product});
    b.Op("Relu", "out", {product, GraphBuilder::Control(loss)});
    ASSERT_OK_AND_ASSIGN(graph_, b.Build());
  }
  NodeId Id(absl::string_view name) const { return graph_.Find(name); }
  Output Out(absl::string_view name) const { return Output{Id(name), 0}; }
  std::vector<std::string> Users(GraphEditor& edit, absl::string_view name) const {
    std::vector<std::string> users;
    for (const Use& use : edit.UsesOf(Id(name))) {
      users.push_back(absl::StrCat(graph_.name(use.node), use.input == kControlIndex ? "^" : absl::StrCat(use.input)));
    }
    return users;
  }

  Graph graph_{NewOpRegistry()};
};

// --- A rewrite: Relu(MatMul) becomes one node where nothing else reads the product -----------------------------------

absl::StatusOr<int> FuseRelus(Graph& graph) {
  GraphEditor edit(graph);
  int fused = 0;
  for (const NodeId id : graph.Nodes()) {
    if (!graph.Is(id, "Relu")) continue;
    const NodeId product = graph.inputs(id)[0].node;
    if (!graph.Is(product, "MatMul") || edit.UsesOf(product).size() != 1) continue;
    std::vector<Output> inputs(graph.inputs(product).begin(), graph.inputs(product).end());
    for (const Output& control : graph.controls(id)) inputs.push_back(control);
    AttrList attrs = {{"fused_ops", std::vector<std::string>{"Relu"}}, {"num_args", 0}};
    graph.ForEachAttr(product, [&](absl::string_view name, absl::string_view bytes) {
      attrs.emplace_back(std::string(name), AttrValue::FromBytes(bytes));
    });
    const GraphEditor::Scope place = edit.OnDevice(graph.device(id));
    const Output made = edit.Add("_FusedMatMul", absl::StrCat(graph.name(id), "/fused"), inputs, std::move(attrs));
    SLUICE_RETURN_IF_ERROR(edit.status());
    SLUICE_RETURN_IF_ERROR(edit.ReplaceUses(Output{id, 0}, made));
    SLUICE_RETURN_IF_ERROR(edit.ReplaceUses(Output{id, kControlIndex}, Output{made.node, kControlIndex}));
    SLUICE_RETURN_IF_ERROR(edit.Remove(id));
    SLUICE_RETURN_IF_ERROR(edit.Remove(product));
    ++fused;
  }
  SLUICE_RETURN_IF_ERROR(edit.Validate());
  return fused;
}

TEST_F(GraphEditorTest, ARewriteFusesWhatHasOneUser) {
  EXPECT_EQ(*FuseRelus(graph_), 0);  // The loss reads the product, too.
  GraphEditor edit(graph_);
  const Output alone = edit.Add("MatMul", "alone", {Out("x"), Out("w")});
  const Output relu = edit.Add("Relu", "relu", {alone});
  const Output last = edit.Add("Neg", "last", {relu, GraphEditor::Nth(relu, kControlIndex)});
  ASSERT_OK(edit.status());
  EXPECT_EQ(*FuseRelus(graph_), 1);
  EXPECT_FALSE(graph_.Contains(relu.node));
  EXPECT_FALSE(graph_.Contains(alone.node));
  EXPECT_EQ(graph_.inputs(last.node)[0], Out("relu/fused"));
  ASSERT_EQ(graph_.controls(last.node).size(), 1u);
  EXPECT_EQ(graph_.controls(last.node)[0].node, Id("relu/fused"));
}

// --- The gradient of MatMul ------------------------------------------------------------------------------------------

std::pair<Output, Output> MatMulGradient(GraphEditor& edit, NodeId id, const Output& dy) {
  const Graph& graph = edit.graph();
  const Output a = graph.inputs(id)[0], b = graph.inputs(id)[1];
  const GraphEditor::Scope names = edit.InName(absl::StrCat(graph.name(id), "_grad"));
  const GraphEditor::Scope place = edit.ColocatedWith(id);
  const auto product = [&](absl::string_view name, Output l, bool tl, Output r, bool tr) {
    return edit.Add("MatMul", name, {l, r}, {{"transpose_a", tl}, {"transpose_b", tr}});
  };
  const bool ta = *graph.GetBool(id, "transpose_a"), tb = *graph.GetBool(id, "transpose_b");
  const Output da = ta ? product("MatMul", b, tb, dy, true) : product("MatMul", dy, false, b, !tb);
  const Output db = tb ? product("MatMul", dy, true, a, ta) : product("MatMul", a, !ta, dy, false);
  return {da, db};
}

TEST_F(GraphEditorTest, TheGradientOfMatMulIsBuiltBesideIt) {
  GraphEditor edit(graph_);
  const GraphEditor::Scope names = edit.InName("gradients");
  const Output dy = edit.Add("OnesLike", "dy", {Out("product")});
  Output da, db;
  {
    const GraphEditor::Scope after = edit.After({Id("loss")});
    std::tie(da, db) = MatMulGradient(edit, Id("product"), dy);
  }
  const Output sum = edit.Add("AddN", "", {da, da});
  ASSERT_OK(edit.Validate());
  EXPECT_EQ(graph_.name(da.node), "gradients/product_grad/MatMul");
  EXPECT_EQ(graph_.name(db.node), "gradients/product_grad/MatMul_1");
  EXPECT_EQ(graph_.name(sum.node), "gradients/AddN");
  EXPECT_EQ(graph_.device(db.node), "/device:CPU:0");
  EXPECT_EQ(graph_.device(sum.node), "");
  ASSERT_OK_AND_ASSIGN(const AttrView groups, graph_.GetAttr(da.node, "_class"));
  EXPECT_EQ(*groups.AsStringList(), std::vector<absl::string_view>{"loc:@product"});
  EXPECT_EQ(graph_.controls(da.node).size(), 1u);
  EXPECT_TRUE(graph_.controls(sum.node).empty());
  EXPECT_EQ(*graph_.GetType(da.node, "T"), DType::kFloat);
}

TEST_F(GraphEditorTest, GroupsOfANodeAreTakenOverAndJoined) {
  ASSERT_OK(graph_.SetAttr(Id("product"), "_class", std::vector<std::string>{"loc:@x"}));
  GraphEditor edit(graph_);
  const GraphEditor::Scope outer = edit.ColocatedWith(Id("product"));
  const GraphEditor::Scope inner = edit.ColocatedWith(Id("loss"));
  const Output made = edit.Add("Neg", "made", {Out("x")});
  ASSERT_OK_AND_ASSIGN(const AttrView groups, graph_.GetAttr(made.node, "_class"));
  EXPECT_EQ(*groups.AsStringList(), (std::vector<absl::string_view>{"loc:@loss", "loc:@x"}));
}

// --- A delta is imported while the uses are kept ---------------------------------------------------------------------

TEST_F(GraphEditorTest, ImportedNodesAreTakenIn) {
  using namespace graph_bytes;  // NOLINT: a vocabulary made for tests.
  GraphEditor edit(graph_);
  EXPECT_EQ(Users(edit, "out"), std::vector<std::string>());
  ImportOptions options;
  options.prefix = "delta";
  options.input_map = {{"in", "out"}};
  const std::string delta = GraphDefBytes({UnaryNode("neg", "Neg", {"in"}), UnaryNode("abs", "Abs", {"neg"})});
  ASSERT_OK(ImportInto(graph_, GraphSource::Copy(delta), options));
  EXPECT_THAT(edit.Validate(), IsError(ErrorCode::kInternal));  // Not told yet.
  edit.TakeInAdded();
  EXPECT_OK(edit.Validate());
  EXPECT_EQ(Users(edit, "out"), std::vector<std::string>{"delta/neg0"});
  // What fails leaves nothing to be taken in.
  const std::string bad = GraphDefBytes({UnaryNode("neg", "Neg", {"nothing"})});
  options.prefix = "bad";
  EXPECT_FALSE(ImportInto(graph_, GraphSource::Copy(bad), options).ok());
  edit.TakeInAdded();
  EXPECT_OK(edit.Validate());
}

// As above, before uses are asked for: they are made of the whole graph.
TEST_F(GraphEditorTest, NodesOfOthersAreTakenInBeforeUsesAreKnown) {
  GraphEditor edit(graph_);
  ASSERT_OK(graph_.AddNode({"other", "Relu", {Out("w")}, {}, {{"T", DType::kFloat}}, ""}).status());
  edit.TakeInAdded();
  EXPECT_EQ(Users(edit, "w"), (std::vector<std::string>{"product1", "other0"}));
  EXPECT_OK(edit.Validate());
}

// --- What must not break
// -----------------------------------------------------------------------------------------------

TEST_F(GraphEditorTest, UsesFollowEveryChange) {
  GraphEditor edit(graph_);
  EXPECT_EQ(Users(edit, "product"), (std::vector<std::string>{"loss0", "out0"}));
  EXPECT_EQ(Users(edit, "loss"), std::vector<std::string>{"out^"});
  ASSERT_OK(edit.SetInput(Id("out"), 0, Out("x")));
  ASSERT_OK(edit.AddControl(Id("out"), Id("w")));
  ASSERT_OK(edit.AddControl(Id("out"), Id("w")));
  edit.RemoveControl(Id("out"), Id("loss"));
  ASSERT_OK(edit.Remove(Id("loss")));
  ASSERT_OK(edit.SetInputs(Id("product"), {Out("x"), Out("x")}, {Id("w")}));
  EXPECT_FALSE(edit.SetInput(Id("out"), 7, Out("x")).ok());
  EXPECT_OK(edit.Validate());
  EXPECT_EQ(Users(edit, "product"), std::vector<std::string>());
  EXPECT_EQ(Users(edit, "w"), (std::vector<std::string>{"product^", "out^"}));
}

TEST_F(GraphEditorTest, WhatIsUsedCannotBeRemoved) {
  GraphEditor edit(graph_);
  EXPECT_THAT(edit.Remove(Id("product")), IsError(ErrorCode::kWrongUse, "'product'"));
  EXPECT_TRUE(graph_.Contains(Id("product")));
  EXPECT_OK(edit.Validate());
}

TEST_F(GraphEditorTest, NodesThatOnlyEachOtherUseAreRemovedTogether) {
  for (const bool keeps_uses : {false, true}) {
    Graph graph = graph_;
    GraphEditor edit(graph);
    EXPECT_TRUE(!keeps_uses || edit.IsUsed(Id("product")));
    EXPECT_THAT(edit.RemoveAll({Id("product"), Id("loss")}), IsError(ErrorCode::kWrongUse, "'out'"));
    EXPECT_EQ(graph.num_nodes(), graph_.num_nodes()) << "nothing is removed";
    ASSERT_OK(edit.RemoveAll({Id("product"), NodeId(1000), Id("out"), Id("loss"), Id("loss")}));
    EXPECT_EQ(graph.num_nodes(), 2);
    EXPECT_FALSE(edit.IsUsed(Id("x")));
    EXPECT_OK(edit.Validate());
  }
}

TEST_F(GraphEditorTest, TheFirstNodeUsesWhatItTakesToo) {
  GraphBuilder b(NewOpRegistry());
  const Output merge = b.Op("Merge", "merge", {Output(), Output()}, {{"T", DType::kFloat}, {"N", 2}});
  const Output x = b.Placeholder("x", DType::kFloat);
  b.SetInput(merge, 0, x);
  b.SetInput(merge, 1, x);
  ASSERT_OK_AND_ASSIGN(graph_, b.Build());
  GraphEditor edit(graph_);
  EXPECT_EQ(Users(edit, "x"), (std::vector<std::string>{"merge0", "merge1"}));
  EXPECT_OK(edit.Validate());
}

TEST_F(GraphEditorTest, UsesAreReplacedAllOrNone) {
  GraphEditor edit(graph_);
  // One reader takes the new type, one does not.
  const Output doubled = edit.Add("Cast", "cast", {Out("product")}, {{"DstT", DType::kDouble}});
  ASSERT_OK(edit.status());
  EXPECT_THAT(edit.ReplaceUses(Out("product"), doubled), IsError(ErrorCode::kInputType));
  EXPECT_EQ(graph_.inputs(Id("out"))[0], Out("product"));
  EXPECT_THAT(edit.ReplaceUses(Out("product"), Output{Id("x"), kControlIndex}), IsError(ErrorCode::kWrongUse));
  EXPECT_THAT(edit.ReplaceUses(Out("product"), Output{NodeId(1000), 0}), IsError(ErrorCode::kNodeMissing));
  // The inserted node still reads the original.
  const Output between = edit.Add("Identity", "between", {Out("product")});
  ASSERT_OK(edit.ReplaceUses(Out("product"), between));
  EXPECT_EQ(graph_.inputs(between.node)[0], Out("product"));
  EXPECT_EQ(graph_.inputs(Id("out"))[0], between);
  EXPECT_EQ(Users(edit, "product"), std::vector<std::string>{"between0"});
  EXPECT_OK(edit.Validate());
}

TEST_F(GraphEditorTest, TheFirstErrorOfAddSticks) {
  GraphEditor edit(graph_);
  const size_t before = graph_.num_nodes();
  const Output bad = edit.Add("NoSuchOp", "bad", {Out("x")});
  EXPECT_FALSE(bad.is_set());
  EXPECT_FALSE(edit.Add("Neg", "neg", {bad}).is_set());
  EXPECT_EQ(graph_.num_nodes(), before);
  EXPECT_THAT(edit.Validate(), IsError(ErrorCode::kOpUnknown, "'bad'"));
}

TEST_F(GraphEditorTest, AttrsThatWouldBreakTypesAreRefused) {
  GraphEditor edit(graph_);
  EXPECT_FALSE(edit.SetAttr(Id("product"), "T", DType::kInt32).ok());
  EXPECT_FALSE(edit.RemoveAttr(Id("product"), "T").ok());
  EXPECT_OK(edit.SetAttr(Id("product"), "transpose_a", true));
  EXPECT_OK(edit.Validate());
}

TEST_F(GraphEditorTest, ManyUsersOfOneNodeCostNoSearch) {
  GraphEditor edit(graph_);
  constexpr int kMany = 50'000;
  std::vector<NodeId> users;
  EXPECT_TRUE(edit.IsUsed(Id("x")));
  for (int i = 0; i < kMany; ++i) users.push_back(edit.Add("Neg", "neg", {Out("x")}).node);
  ASSERT_OK(edit.status());
  EXPECT_EQ(edit.UsesOf(Out("x")).size(), static_cast<size_t>(kMany) + 1);
  for (const NodeId id : users) ASSERT_OK(edit.SetInput(id, 0, Out("w")));
  for (const NodeId id : users) ASSERT_OK(edit.Remove(id));
  EXPECT_OK(edit.Validate());
}

TEST_F(GraphEditorTest, ValidationFindsCyclesAndStrangersChanges) {
  GraphEditor edit(graph_);
  const Output a = edit.Add("Neg", "a", {Out("x")});
  const Output b = edit.Add("Neg", "b", {a});
  EXPECT_OK(edit.Validate());
  ASSERT_OK(edit.SetInput(a.node, 0, b));
  EXPECT_THAT(ValidateGraph(graph_), IsError(ErrorCode::kCycle));
  ASSERT_OK(edit.SetInput(a.node, 0, Out("x")));
  EXPECT_TRUE(edit.IsUsed(a.node));
  ASSERT_OK(graph_.SetInput(b.node, 0, Out("w")));
  EXPECT_THAT(edit.Validate(), IsError(ErrorCode::kInternal));
}

}  // namespace
}  // namespace sluice

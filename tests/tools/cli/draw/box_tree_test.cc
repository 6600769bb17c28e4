#include "tools/cli/draw/box_tree.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tools/cli/draw/scene.h"

namespace sluice {
namespace {

// The box called `label`, or -1.
int32_t FindBox(const BoxTree& tree, absl::string_view label) {
  const auto found =
      std::find_if(tree.boxes().begin(), tree.boxes().end(), [label](const Box& box) { return box.label == label; });
  return found == tree.boxes().end() ? -1 : static_cast<int32_t>(found - tree.boxes().begin());
}

Graph Build(GraphBuilder& builder) {
  absl::StatusOr<Graph> graph = builder.Build();
  EXPECT_OK(graph);
  return *std::move(graph);
}

// x -> net/a -> net/b -> out.
Graph ScopedGraph() {
  GraphBuilder builder(NewOpRegistry());
  const Output x = builder.Placeholder("x", DType::kFloat);
  const Output a = builder.Op("Relu", "net/a", {x});
  const Output b = builder.Op("Relu", "net/b", {a});
  builder.Op("Relu", "out", {b});
  return Build(builder);
}

TEST(BoxTreeTest, ScopesHoldTheirNodes) {
  const BoxTree tree(ScopedGraph());
  const int32_t net = FindBox(tree, "net");
  ASSERT_GT(net, 0);
  EXPECT_EQ(tree.box(net).kind, Box::Kind::kScope);
  EXPECT_EQ(tree.box(net).children.size(), 2u);
  EXPECT_EQ(tree.box(net).num_nodes, 2);
  EXPECT_EQ(tree.box(0).children.size(), 3u);
}

TEST(BoxTreeTest, EdgesAreCutAtBordersAndKnowWhereTheyGo) {
  const BoxTree tree(ScopedGraph());
  const int32_t net = FindBox(tree, "net"), a = FindBox(tree, "a"), b = FindBox(tree, "b");
  ASSERT_EQ(tree.edges(net).size(), 3u) << "in to a, a to b, b out";
  ASSERT_EQ(tree.edges(0).size(), 2u);
  const BoxEdge& in = tree.edges(0)[0];
  EXPECT_EQ(in.to, net);
  EXPECT_EQ(in.to_inside, std::vector<int32_t>{a});
  const BoxEdge& out = tree.edges(0)[1];
  EXPECT_EQ(out.from_inside, std::vector<int32_t>{b});
}

TEST(BoxTreeTest, SmallConstantsOfOneUserAreFolded) {
  GraphBuilder builder(NewOpRegistry());
  const Output x = builder.Placeholder("x", DType::kFloat);
  const Output one = builder.Const("one", Tensor::Scalar(1.0f));
  const Output two = builder.Const("two", Tensor::Scalar(2.0f));
  const Output y = builder.Op("AddV2", "y", {x, one});
  const Output z = builder.Op("AddV2", "z", {y, two});
  builder.Op("AddV2", "w", {z, two});
  const Output unknown = builder.Const("unknown", Tensor::Scalar(3.0f));
  builder.Op("AddV2", "net/layer/u", {z, unknown});
  builder.Op("AddV2", "net/layer/t", {z, builder.Const("other/three", Tensor::Scalar(3.0f))});
  const BoxTree tree(Build(builder));
  EXPECT_EQ(FindBox(tree, "one"), -1);
  EXPECT_EQ(tree.box(FindBox(tree, "y")).folded.size(), 1u);
  EXPECT_GT(FindBox(tree, "two"), 0) << "two nodes use it";
  EXPECT_EQ(FindBox(tree, "unknown"), -1) << "it belongs to nothing else";
  EXPECT_GT(FindBox(tree, "three"), 0) << "its name says where it belongs";
}

TEST(BoxTreeTest, ConstantsInAScopeNamedAfterTheirUserAreFoldedAndTheScopeGoes) {
  GraphBuilder builder(NewOpRegistry());
  const Output x = builder.Placeholder("x", DType::kFloat);
  builder.Op("AddV2", "add", {x, builder.Const("add/y", Tensor::Scalar(1.0f))});
  const BoxTree tree(Build(builder));
  EXPECT_EQ(tree.boxes().size(), 3u) << "the root, x and add";
}

// As a frozen graph has them: the constant, what was the read of a variable, and the node that uses it.
TEST(BoxTreeTest, WeightsAreFoldedIntoTheirUserWhateverTheirSize) {
  GraphBuilder builder(NewOpRegistry());
  const Output x = builder.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 100}));
  const Output w = builder.Const("layer/w", Tensor::Of<float>(Shape::Of({100, 2}), std::vector<float>(200, 1)));
  const Output y = builder.Op("MatMul", "layer/y", {x, builder.Op("Identity", "layer/w/read", {w})});
  const Output shared = builder.Const("layer/shared", Tensor::Vector<float>({1, 2}));
  const Output read = builder.Op("Identity", "layer/shared/read", {shared});
  builder.Op("Mul", "layer/twice", {builder.Op("AddV2", "layer/z", {y, read}), read});
  const BoxTree tree(Build(builder));
  const Box& user = tree.box(FindBox(tree, "y"));
  EXPECT_EQ(user.folded.size(), 2) << "the constant and its read";
  EXPECT_EQ(FindBox(tree, "w"), -1);
  EXPECT_GT(FindBox(tree, "read"), 0) << "two nodes use it";
}

// `op` uses the variable beside a read of it.
BoxTree TreeOfVariable(absl::string_view op) {
  GraphBuilder builder(NewOpRegistry());
  const Output v = builder.Op("VarHandleOp", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}});
  const Output read = builder.Op("ReadVariableOp", "layer/read", {v}, {{"dtype", DType::kFloat}});
  const Output half = builder.Op("Relu", "layer/half", {read});
  builder.Op(op, "layer/also", op == "VarIsInitializedOp" ? std::vector<Output>{v} : std::vector<Output>{v, half});
  return BoxTree(Build(builder));
}

TEST(BoxTreeTest, VariablesAreFoldedIntoWhatReadsThemAndKeepsMovingAverages) {
  for (const char* op : {"AssignVariableOp", "AssignSubVariableOp", "AssignAddVariableOp"}) {
    const BoxTree tree = TreeOfVariable(op);
    EXPECT_EQ(FindBox(tree, "v"), -1) << op;
    EXPECT_EQ(tree.box(FindBox(tree, "half")).folded.size(), 2) << op;
    EXPECT_EQ(tree.box(FindBox(tree, "also")).folded.size(), 1) << op;
  }
  EXPECT_GT(FindBox(TreeOfVariable("VarIsInitializedOp"), "v"), 0);
}

// As in a graph that is not sound and is drawn all the same.
TEST(BoxTreeTest, WhatUsesEachOtherIsNotFoldedIntoItself) {
  GraphBuilder builder(NewOpRegistry());
  const GraphBuilder::Attrs dtype = {{"dtype", DType::kFloat}};
  const Output v = builder.Op("VarHandleOp", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}});
  const Output a = builder.Op("ReadVariableOp", "a", {v}, dtype), b = builder.Op("ReadVariableOp", "b", {v}, dtype);
  Graph graph = Build(builder);
  ASSERT_OK(graph.AddControl(b.node, a.node));
  ASSERT_OK(graph.AddControl(a.node, b.node));
  const BoxTree tree(graph);
  EXPECT_EQ(tree.boxes().size(), 2) << "the root and one of the reads";
}

TEST(BoxTreeTest, CrowdedScopesAreBundled) {
  GraphBuilder builder(NewOpRegistry());
  Output last = builder.Placeholder("x", DType::kFloat);
  for (int i = 0; i < 5000; ++i) last = builder.Op("Relu", absl::StrCat("relu_", i), {last});
  const BoxTree tree(Build(builder), 50);
  for (const Box& box : tree.boxes()) EXPECT_LE(box.children.size(), 50u);
  EXPECT_EQ(tree.box(0).num_nodes, 5001);
  EXPECT_EQ(tree.box(tree.box(0).children[0]).kind, Box::Kind::kBundle);
}

TEST(SceneTest, OpenBoxesHoldTheirChildren) {
  const BoxTree tree(ScopedGraph());
  std::vector<bool> open(tree.boxes().size(), false);
  open[0] = open[static_cast<size_t>(FindBox(tree, "net"))] = true;
  const Scene scene = BuildScene(tree, open, [](const Box&) { return ItemSize{80, 30}; });
  ASSERT_EQ(scene.boxes.size(), 6u);
  const auto at = [&](absl::string_view label) {
    const int32_t box = FindBox(tree, label);
    return *std::find_if(scene.boxes.begin(), scene.boxes.end(), [box](const SceneBox& s) { return s.box == box; });
  };
  const SceneBox net = at("net"), a = at("a"), b = at("b");
  EXPECT_TRUE(net.open);
  EXPECT_GE(a.x, net.x);
  EXPECT_LE(a.x + a.width, net.x + net.width);
  EXPECT_GT(a.y, net.y);
  EXPECT_LT(a.bottom(), b.y);
  EXPECT_LT(b.bottom(), net.bottom());
  EXPECT_EQ(scene.edges.size(), 5u);
}

TEST(SceneTest, TheBudgetBoundsWhatIsOpen) {
  const BoxTree tree(ScopedGraph());
  const std::vector<bool> small = ChooseOpenBoxes(tree, 3), large = ChooseOpenBoxes(tree, 10);
  EXPECT_EQ(std::count(small.begin(), small.end(), true), 1);
  EXPECT_EQ(std::count(large.begin(), large.end(), true), 2);
}

TEST(SceneTest, WhatIsToStayClosedDoes) {
  const BoxTree tree(ScopedGraph());
  const std::string closed[] = {"ne", "net"};
  const std::vector<bool> none = ChooseOpenBoxes(tree, 10, closed), all = ChooseOpenBoxes(tree, 10, {"ne"});
  EXPECT_EQ(std::count(none.begin(), none.end(), true), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), true), 2) << "another name";
}

}  // namespace
}  // namespace sluice

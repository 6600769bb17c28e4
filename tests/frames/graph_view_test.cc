#include "frames/graph_view.h"

#include "gtest/gtest.h"
#include "tests/frames/graph_runner.h"

namespace sluice {
namespace {

// Looks at the view of small graphs; nodes are found by name.
class GraphViewTest : public testing::Test {
 protected:
  void Build() { runner_ = std::make_unique<GraphRunner<FramedPropagator>>(b_); }
  const GraphView& view() const { return runner_->view(); }
  const NodeItem& Item(const std::string& name) const {
    const int32_t id = runner_->graph().Find(name).value();
    for (uint32_t i = 0;; ++i) {
      if (view().item(i).io.id == id) return view().item(i);
    }
  }
  Output Int(const std::string& name) { return b_.Const(name, Tensor::Scalar<int32_t>(1)); }
  Output Add(const std::string& name, Output x, Output y) { return b_.Op("AddV2", name, {x, y}); }

  GraphBuilder b_{NewOpRegistry()};
  std::unique_ptr<GraphRunner<FramedPropagator>> runner_;
};

TEST_F(GraphViewTest, ConstantsWithoutControlInputsTakeNoPart) {
  const Output c = Int("c");
  Add("x", c, c);
  Build();
  EXPECT_EQ(Item("c").num_edges, 0u);
  EXPECT_EQ(Item("x").io.input(0).table(), Operand::Table::kConstants);
  ASSERT_EQ(view().roots().size(), 1u);
  EXPECT_EQ(&view().item(view().roots()[0]), &Item("x"));
}

TEST_F(GraphViewTest, NodesThatWereRemovedTakeNoPart) {
  const Output x = Add("x", Int("c"), Int("d"));
  const Output gone = Add("gone", x, x);
  Add("y", x, x);
  b_.graph().RemoveNode(gone.node);
  Build();
  EXPECT_EQ(view().num_items(), 4u);
  EXPECT_EQ(view().uses(Item("x"), 0), 2u);
  runner_->Run();
}

TEST_F(GraphViewTest, EdgesOfOneOutputToOneNodeAreOne) {
  const Output x = Add("x", Int("c"), Int("d"));
  Add("y", x, x);
  Build();
  EXPECT_EQ(Item("x").num_edges, 1u);
  EXPECT_FALSE(Item("y").counter.is_set()) << "one edge is left: nothing to count";
  EXPECT_EQ(view().uses(Item("x"), 0), 2u) << "but two reads";
  EXPECT_FALSE(Item("y").io.input(0).is_last_use());
}

TEST_F(GraphViewTest, AControlEdgeBesideADataEdgeIsNone) {
  const Output x = Add("x", Int("c"), Int("d"));
  const Output y = Add("y", x, Int("e"));
  b_.AddControl(y, GraphBuilder::Control(x));
  b_.AddControl(Add("z", Int("f"), Int("g")), GraphBuilder::Control(x));
  Build();
  ASSERT_EQ(Item("x").num_edges, 2u);
  EXPECT_FALSE(view().edges(Item("x"))[0].is_control());
  EXPECT_TRUE(view().edges(Item("x"))[1].is_control()) << "to z";
}

TEST_F(GraphViewTest, AMergeKeepsAllItsEdges) {
  const Output x = Add("x", Int("c"), Int("d"));
  const Output merge = b_.Op("Merge", "merge", {x, x});
  b_.AddControl(merge, GraphBuilder::Control(x));
  Build();
  EXPECT_EQ(Item("x").num_edges, 3u);
  EXPECT_TRUE(Item("merge").counter.is_set());
  EXPECT_EQ(view().frames()[0].counts.pending(Item("merge").counter), 3u) << "1 and 2 for the control input";
}

TEST_F(GraphViewTest, TheOnlyReaderIsTheLast) {
  const Output x = Add("x", Int("c"), Int("d"));
  Add("y", x, Int("e"));
  Build();
  EXPECT_TRUE(Item("y").io.input(0).is_last_use());
  EXPECT_FALSE(Item("y").io.input(1).is_last_use()) << "constants are never given up";
}

TEST_F(GraphViewTest, ValuesOfFramesLieWhereTheyAreRead) {
  const Output x = Add("x", Int("c"), Int("d"));
  const auto enter = [&](const std::string& name, bool is_constant) {
    return b_.Op("Enter", name, {x}, {{"frame_name", "loop"}, {"is_constant", is_constant}});
  };
  const Output sum = Add("sum", enter("variable", false), enter("invariant", true));
  b_.Op("Exit", "exit", {sum});
  Build();
  ASSERT_EQ(view().frames().size(), 2u);
  EXPECT_EQ(view().frames()[0].num_slots, 2u) << "x and exit";
  EXPECT_EQ(view().frames()[1].num_slots, 2u) << "variable and sum";
  EXPECT_EQ(view().frames()[1].num_enters, 2u);
  EXPECT_EQ(Item("sum").io.input(1).table(), Operand::Table::kInvariants);
  EXPECT_EQ(view().extra(Item("variable")).frame, 0) << "an Enter runs in the frame around";
}

}  // namespace
}  // namespace sluice

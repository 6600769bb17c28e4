#include "graph/ir/topo_order.h"

#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/consumers.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(TopologicalOrderTest, InputsAndControlsComeFirst) {
  GraphBuilder b(NewOpRegistry());
  const Output late = b.Op("NoOp", "late"), early = b.Op("NoOp", "early");
  b.AddControl(late, early);
  ASSERT_OK_AND_ASSIGN(const std::vector<NodeId> order, TopologicalOrder(b.graph()));
  EXPECT_EQ(order, (std::vector<NodeId>{early.node, late.node}));
}

TEST(TopologicalOrderTest, AMillionNodesInARowDoNotRecurse) {
  GraphBuilder b(NewOpRegistry());
  Output at = b.Placeholder("x", DType::kFloat);
  constexpr int kNodes = 200'000;
  for (int i = 0; i < kNodes; ++i) at = b.Op("Identity", "n" + std::to_string(i), {at});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const std::vector<NodeId> order, TopologicalOrder(graph));
  EXPECT_EQ(order.size(), kNodes + 1u);
  EXPECT_EQ(order.back(), at.node);
}

TEST(TopologicalOrderTest, CycleIsPrintedInTheOrderOfTheData) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output a = b.Op("AddV2", "a", {x, x}), c = b.Op("Relu", "c", {b.Op("Relu", "b", {a})});
  b.SetInput(a, 1, c);
  const absl::Status status = CheckAcyclic(b.graph());
  EXPECT_THAT(status, IsError(ErrorCode::kCycle));
  const std::string message(status.message());
  EXPECT_TRUE(message.find("a -> b -> c -> a") != std::string::npos ||
              message.find("b -> c -> a -> b") != std::string::npos ||
              message.find("c -> a -> b -> c") != std::string::npos)
      << message;
}

TEST(ReverseReachableTest, FindsWhatIsNeeded) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat), y = b.Op("Relu", "y", {x}), z = b.Op("Relu", "z", {x});
  const std::vector<bool> needed = ReverseReachable(b.graph(), {y.node});
  EXPECT_TRUE(needed[static_cast<size_t>(x.node.value())]);
  EXPECT_FALSE(needed[static_cast<size_t>(z.node.value())]);
}

TEST(ConsumersTest, ListsDataAndControlUses) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat), y = b.Op("AddV2", "y", {x, x});
  const Output n = b.Op("NoOp", "n");
  b.AddControl(n, x);
  const Consumers consumers(b.graph());
  const auto uses = consumers.of(x.node);
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[1].node, y.node);
  EXPECT_EQ(uses[1].input, 1);
  EXPECT_EQ(uses[2].node, n.node);
  EXPECT_EQ(uses[2].slot, kControlIndex);
  EXPECT_TRUE(consumers.of(n.node).empty());
}

TEST(TopologicalOrderTest, EdgesFromRemovedNodesAreOpen) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output merge = b.Op("Merge", "merge", {x, x});
  const Output y = b.Op("Neg", "y", {merge});
  b.graph().RemoveNode(x.node);
  ASSERT_OK_AND_ASSIGN(const std::vector<NodeId> order, TopologicalOrder(b.graph()));
  EXPECT_EQ(order, (std::vector<NodeId>{merge.node, y.node}));
}

}  // namespace
}  // namespace sluice

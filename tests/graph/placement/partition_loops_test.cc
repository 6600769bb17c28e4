// Loops that run on several devices: every Recv inside must fire once per iteration. See Note [Control loops].

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ops/op_table.h"
#include "graph/placement/control_loops.h"
#include "graph/placement/partition.h"
#include "gtest/gtest.h"
#include "tests/graph/placement/partition_test_util.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Builds loops whose nodes are placed by the first letter of their names.
class PartitionLoopsTest : public testing::Test {
 protected:
  PartitionLoopsTest() : b_(NewOpRegistry()) {}

  Output Enter(absl::string_view name, Output value, absl::string_view frame, bool is_constant = false) {
    return b_.Op("Enter", name, {value},
                 {{"frame_name", frame}, {"is_constant", is_constant}, {"parallel_iterations", int64_t{7}}});
  }
  Output Merge(absl::string_view name, Output enter) {
    const DType type = b_.graph().output_type(enter.node, 0);
    return b_.Op("Merge", name, {enter, Output()}, {{"T", type}, {"N", int64_t{2}}});
  }
  Output Float(absl::string_view name) { return b_.Const(name, Tensor::Scalar(1.0f)); }

  // while (x < limit) x = body(x) with the parts on the devices of the letters of `on`: Enter, Merge, Less, LoopCond,
  // Switch, body, NextIteration, Exit. Returns the Exit.
  Output Loop(const std::string& frame, const std::string& on, Output start, Output limit) {
    const auto name = [&](size_t i, const char* what) { return absl::StrCat(on.substr(i, 1), "_", frame, "_", what); };
    const Output merge = Merge(name(1, "merge"), Enter(name(0, "enter"), start, frame));
    const Output bound = Enter(name(2, "limit"), limit, frame, true);
    const Output cond = b_.Op("LoopCond", name(3, "cond"), {b_.Op("Less", name(2, "less"), {merge, bound})});
    const Output turn = b_.Op("Switch", name(4, "switch"), {merge, cond});
    const Output body = b_.Op("Neg", name(5, "body"), {GraphBuilder::Nth(turn, 1)});
    b_.SetInput(merge, 1, b_.Op("NextIteration", name(6, "next"), {body}));
    return b_.Op("Exit", name(7, "exit"), {turn});
  }

  absl::StatusOr<std::vector<Partition>> TryCut() {
    EXPECT_OK(b_.status());
    PlaceByFirstLetter(b_.graph());
    return PartitionGraph(b_.graph(), options_);
  }
  std::vector<Partition> Cut() {
    absl::StatusOr<std::vector<Partition>> parts = TryCut();
    EXPECT_OK(parts);
    if (!parts.ok()) return {};
    EXPECT_EQ(CheckPartitions(b_.graph(), *parts), "");
    CheckTriggers(*parts);
    return *std::move(parts);
  }

  // Every Recv in a frame waits for the Merge of a control loop in that frame.
  static void CheckTriggers(const std::vector<Partition>& parts) {
    for (const Partition& part : parts) {
      ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(part.graph, LoadLimits()));
      for (const std::string& name : NodesOfOp(part.graph, "_Recv")) {
        const NodeId recv = part.graph.Find(name);
        if (info.frame(recv) == 0) continue;
        ASSERT_EQ(part.graph.controls(recv).size(), 1u) << name;
        EXPECT_TRUE(IsControlLoopMerge(part.graph, part.graph.controls(recv)[0].node)) << NodeText(part.graph, name);
      }
    }
  }
  static size_t NumControlLoops(const Graph& part) {
    size_t count = 0;
    for (NodeId id : part.Nodes()) count += IsControlLoopMerge(part, id) ? 1 : 0;
    return count;
  }
  // Recvs of `part` that stand inside of a frame of this name.
  static size_t NumRecvsIn(const Graph& part, absl::string_view frame) {
    const absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(part, LoadLimits());
    size_t count = 0;
    for (const std::string& name : NodesOfOp(part, "_Recv")) {
      count += info->frames[static_cast<size_t>(info->frame(part.Find(name)))].name == frame ? 1 : 0;
    }
    return count;
  }

  GraphBuilder b_;
  PartitionOptions options_;
};

TEST_F(PartitionLoopsTest, ALoopOnOneDeviceNeedsNoControlLoop) {
  b_.Op("Neg", "b_out", {Loop("f", "aaaaaaaa", Float("b_start"), Float("b_limit"))});
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NumControlLoops(PartOf(parts, "CPU:0")) + NumControlLoops(PartOf(parts, "CPU:1")), 0u);
  EXPECT_EQ(NumRecvsIn(PartOf(parts, "CPU:1"), ""), 1u) << "the result";
}

TEST_F(PartitionLoopsTest, ALoopWithABackEdgeAlone) {
  const Output merge = Merge("a3", Enter("a2", b_.Const("b1", Tensor::Scalar(true)), "f"));
  b_.Op("LoopCond", "a4", {merge});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "a5", {merge}));
  Cut();
}

TEST_F(PartitionLoopsTest, EnterAndNextIterationMoveToTheirMerge) {
  const Output merge = Merge("a3", Enter("b2", b_.Const("a1", Tensor::Scalar(true)), "f"));
  b_.Op("LoopCond", "a4", {merge});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "b5", {b_.Op("Identity", "b4", {merge})}));
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NodeText(PartOf(parts, "CPU:0"), "a3"), "a3(b2, b5)");
}

TEST_F(PartitionLoopsTest, ABodyOnAnotherDeviceGetsAControlLoop) {
  b_.Op("Neg", "a_out", {Loop("f", "aaaaabaa", Float("a_start"), Float("a_limit"))});
  const std::vector<Partition> parts = Cut();
  const Graph& far = PartOf(parts, "CPU:1");
  EXPECT_EQ(NumControlLoops(far), 1u);
  EXPECT_EQ(NumRecvsIn(far, "f"), 2u) << "the value, and whether to go on";
  EXPECT_EQ(NumControlLoops(PartOf(parts, "CPU:0")), 1u) << "the value comes back";
  for (const std::string& name : NodesOfOp(far, "Enter")) {
    EXPECT_EQ(*far.GetString(far.Find(name), "frame_name"), "f");
    EXPECT_EQ(*far.GetInt(far.Find(name), "parallel_iterations"), 7);
    EXPECT_TRUE(absl::StartsWith(name, "_cloop")) << name;
  }
}

TEST_F(PartitionLoopsTest, AControlLoopAsksTheLoopCond) {
  Loop("f", "aaaaabaa", Float("a_start"), Float("a_limit"));
  const std::vector<Partition> parts = Cut();
  const Graph& far = PartOf(parts, "CPU:1");
  const NodeId turn = far.Find(NodesOfOp(far, "Switch").at(0));
  const NodeId recv = far.inputs(turn)[1].node;
  EXPECT_EQ(*far.GetString(recv, "_src"), "a_f_cond");
  EXPECT_EQ(*far.GetType(recv, "tensor_type"), DType::kBool);
  EXPECT_EQ(far.controls(recv)[0].node, far.inputs(turn)[0].node) << "the Merge of the same loop";
}

TEST_F(PartitionLoopsTest, ALoopSpreadOverThreeDevicesKeepsItsEdges) {
  b_.Op("Neg", "c_out", {Loop("f", "abcabcab", Float("a_start"), Float("b_limit"))});
  Cut();
}

TEST_F(PartitionLoopsTest, EveryWayToSpreadALoopKeepsItsEdges) {
  for (int mask = 0; mask < 256; ++mask) {
    SCOPED_TRACE(mask);
    b_ = GraphBuilder(NewOpRegistry());
    std::string on;
    for (int i = 0; i < 8; ++i) on.push_back((mask >> i & 1) != 0 ? 'b' : 'a');
    b_.Op("Neg", "b_out", {Loop("f", on, Float("a_start"), Float("b_limit"))});
    Cut();
  }
}

TEST_F(PartitionLoopsTest, ControlEdgesInsideALoopFireEachTime) {
  Loop("f", "aaaaaaaa", Float("a_start"), Float("a_limit"));
  const Output turn{b_.graph().Find("a_f_switch"), 1};
  const Output far = b_.Op("Identity", "b_far", {turn});
  b_.AddControl(Output{b_.graph().Find("a_f_next"), 0}, far);
  b_.AddControl(far, Output{b_.graph().Find("a_f_body"), 0});
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NumRecvsIn(PartOf(parts, "CPU:1"), "f"), 3u);
}

TEST_F(PartitionLoopsTest, InvariantsReachOtherDevicesEachTime) {
  Loop("f", "aaaaaaaa", Float("a_start"), Float("a_limit"));
  const Output bound{b_.graph().Find("a_f_limit"), 0};
  b_.Op("AddV2", "b_far", {bound, Output{b_.graph().Find("a_f_merge"), 0}});
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NumRecvsIn(PartOf(parts, "CPU:1"), "f"), 3u);
}

// "b_part" is worked out anew in every iteration on a device to which nothing of the loop goes.
TEST_F(PartitionLoopsTest, ADeviceThatUsesInvariantsOnlyGetsAControlLoop) {
  const Output exit = Loop("f", "aaaaaaaa", Float("a_start"), Float("a_limit"));
  const Output part = b_.Op("Neg", "b_part", {Enter("b_invariant", Float("b_value"), "f", true)});
  const Output body = b_.graph().inputs(b_.graph().Find("a_f_next"))[0];
  b_.SetInput(Output{b_.graph().Find("a_f_next"), 0}, 0, b_.Op("AddV2", "a_sum", {body, part}));
  b_.Op("Identity", "a_result", {exit});
  EXPECT_EQ(NumControlLoops(PartOf(Cut(), "CPU:1")), 1u);
}

TEST_F(PartitionLoopsTest, ALoopWithoutLoopCondCannotSpread) {
  const Output merge = Merge("a_merge", Enter("a_enter", Float("a1"), "f"));
  b_.SetInput(merge, 1, b_.Op("NextIteration", "a_next", {merge}));
  b_.Op("Neg", "b_far", {merge});
  EXPECT_THAT(TryCut(), IsError(ErrorCode::kPartition, "LoopCond"));
  EXPECT_THAT(TryCut(), StatusIs(absl::StatusCode::kInvalidArgument, "b_far"));
}

TEST_F(PartitionLoopsTest, AFrameWithoutLoopCondMayStandOnTwoDevicesThatExchangeNothing) {
  b_.Op("Exit", "a_exit", {Enter("a_enter", Float("a_value"), "f")});
  b_.Op("Exit", "b_exit", {Enter("b_enter", Float("b_value"), "f")});
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(parts.size(), 2u);
  for (const Partition& part : parts) EXPECT_EQ(NumControlLoops(part.graph), 0u);
}

// --- Loops in loops -------------------------------------------------------------------------------------------------

class NestedLoopsTest : public PartitionLoopsTest {
 protected:
  // An outer loop whose body is an inner loop; then `after` runs in the outer loop on the inner loop's result.
  void Nest(const std::string& outer_on, const std::string& inner_on, const std::string& after) {
    const std::string o = outer_on;
    const auto name = [&](const char* what) { return absl::StrCat(o, "_outer_", what); };
    const Output merge = Merge(name("merge"), Enter(name("enter"), Float("a_start"), "outer"));
    const Output bound = Enter(name("limit"), Float("a_limit"), "outer", true);
    const Output cond = b_.Op("LoopCond", name("cond"), {b_.Op("Less", name("less"), {merge, bound})});
    const Output turn = b_.Op("Switch", name("switch"), {merge, cond});
    const Output inner = Loop("inner", inner_on, GraphBuilder::Nth(turn, 1), bound);
    const Output last = b_.Op("Neg", absl::StrCat(after, "_after"), {inner});
    b_.SetInput(merge, 1, b_.Op("NextIteration", name("next"), {last}));
    b_.Op("Exit", name("exit"), {turn});
  }
};

TEST_F(NestedLoopsTest, AnInnerLoopElsewhereNeedsTheOuterOnesControlLoop) {
  Nest("a", "bbbbbbbb", "a");
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NumControlLoops(PartOf(parts, "CPU:1")), 1u) << "the outer frame's";
  EXPECT_EQ(NumRecvsIn(PartOf(parts, "CPU:1"), "outer"), 3u) << "value, limit, whether to go on";
  EXPECT_EQ(NumRecvsIn(PartOf(parts, "CPU:0"), "outer"), 1u) << "the inner result";
}

TEST_F(NestedLoopsTest, ControlLoopsAreNestedLikeTheirFrames) {
  Nest("a", "aaaaabaa", "a");
  const std::vector<Partition> parts = Cut();
  const Graph& far = PartOf(parts, "CPU:1");
  EXPECT_EQ(NumControlLoops(far), 2u);
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(far, LoadLimits()));
  ASSERT_EQ(info.frames.size(), 3u);
  EXPECT_EQ(info.frames[2].name, "inner");
  EXPECT_EQ(info.frames[2].parent, 1);
}

TEST_F(NestedLoopsTest, AResultThatLeavesAnInnerLoopForAnotherDeviceFiresEachTime) {
  Nest("a", "aaaaaaaa", "b");
  const std::vector<Partition> parts = Cut();
  EXPECT_EQ(NumRecvsIn(PartOf(parts, "CPU:1"), "outer"), 2u);
}

TEST_F(NestedLoopsTest, ManyWaysToSpreadNestedLoopsKeepTheirEdges) {
  for (int mask = 0; mask < 512; mask += 3) {
    SCOPED_TRACE(mask);
    b_ = GraphBuilder(NewOpRegistry());
    std::string on;
    for (int i = 0; i < 8; ++i) on.push_back((mask >> i & 1) != 0 ? 'b' : 'a');
    Nest("a", on, mask >= 256 ? "b" : "c");
    Cut();
  }
}

// --- Two cuts: by task, then by device ----------------------------------------------------------------------------

TEST_F(PartitionLoopsTest, ACutByTaskThenByDeviceGivesSoundParts) {
  Loop("f", "aaaaabaa", Float("a_start"), Float("a_limit"));
  b_.Op("Neg", "c_far", {Output{b_.graph().Find("b_f_body"), 0}});
  b_.Op("Neg", "d_far", {Output{b_.graph().Find("b_f_body"), 0}});
  for (NodeId id : b_.graph().Nodes()) {
    const int number = b_.graph().name(id)[0] - 'a';  // Tasks 0 and 1 have two devices each.
    b_.graph().SetDevice(id, TestDevice(absl::StrCat("CPU:", number % 2), number / 2));
  }
  options_.by_task = true;
  ASSERT_OK_AND_ASSIGN(const std::vector<Partition> tasks, PartitionGraph(b_.graph(), options_));
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].location, "/job:a/replica:0/task:0");
  EXPECT_EQ(CheckPartitions(b_.graph(), tasks), "");
  options_.by_task = false;
  options_.has_control_loops = true;
  for (const Partition& task : tasks) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Partition> devices, PartitionGraph(task.graph, options_));
    EXPECT_EQ(devices.size(), 2u);
    EXPECT_EQ(CheckPartitions(task.graph, devices), "");
    CheckTriggers(devices);
  }
}

}  // namespace
}  // namespace sluice

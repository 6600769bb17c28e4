#include "graph/ir/control_flow_check.h"

#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using testing::ElementsAre;

class ControlFlowCheckTest : public testing::Test {
 protected:
  Output Enter(absl::string_view name, Output input, absl::string_view frame, GraphBuilder::Attrs attrs = {}) {
    attrs.emplace_back("frame_name", frame);
    return b_.Op("Enter", name, {input}, attrs);
  }
  Output Scalar(absl::string_view name) { return b_.Const(name, Tensor::Scalar(1.0f)); }

  // Enter -> Merge -> Switch -> AddV2 -> NextIteration -> Merge, Switch -> Exit; names start with `p`. The Exit.
  Output Loop(const std::string& p, Output input, const std::string& frame) {
    const Output enter = Enter(p + "enter", input, frame);
    const Output merge = b_.Op("Merge", p + "merge", {enter, Output()});
    const Output ten = Enter(p + "ten", input, frame, {{"is_constant", true}});
    const Output cond = b_.Op("LoopCond", p + "cond", {b_.Op("Less", p + "less", {merge, ten})});
    const Output branch = b_.Op("Switch", p + "switch", {merge, cond});
    const Output add = b_.Op("AddV2", p + "add", {GraphBuilder::Nth(branch, 1), ten});
    b_.SetInput(merge, 1, b_.Op("NextIteration", p + "next", {add}));
    return b_.Op("Exit", p + "exit", {branch});
  }

  absl::Status Check(LoadLimits limits = LoadLimits()) {
    EXPECT_THAT(b_.status(), IsOk());
    return BuildControlFlowInfo(b_.graph(), limits).status();
  }
  // Names of the nodes at fault, in order.
  std::vector<std::string> Culprits(const absl::Status& status) {
    std::vector<std::string> names;
    for (const absl::Status& error : AllErrors(status)) names.push_back(ErrorInfoOf(error)->node);
    return names;
  }

  GraphBuilder b_{NewOpRegistry()};
};

TEST_F(ControlFlowCheckTest, GraphWithoutLoopsHasOnlyTheRoot) {
  b_.Op("Relu", "y", {Scalar("x")});
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(b_.graph(), LoadLimits()));
  EXPECT_FALSE(info.has_frames);
  ASSERT_EQ(info.frames.size(), 1u);
  EXPECT_EQ(info.frames[0].num_nodes, 2);
  EXPECT_EQ(info.frame(b_.graph().Find("y")), 0);
}

TEST_F(ControlFlowCheckTest, NodesStandInTheFrameOfTheirInputs) {
  const Output exit = Loop("", Scalar("x"), "f");
  const Output after = b_.Op("Relu", "after", {exit});
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(b_.graph(), LoadLimits()));
  ASSERT_EQ(info.frames.size(), 2u);
  const StaticFrame& frame = info.frames[1];
  EXPECT_EQ(frame.name, "f");
  EXPECT_EQ(frame.parent, 0);
  EXPECT_EQ(frame.num_nodes, 9);
  EXPECT_EQ(frame.parallel_iterations, 10);
  EXPECT_EQ(frame.exits, std::vector<NodeId>{exit.node});
  EXPECT_EQ(frame.enters, (std::vector<NodeId>{b_.graph().Find("enter"), b_.graph().Find("ten")}));
  EXPECT_EQ(frame.loop_cond, b_.graph().Find("cond"));
  EXPECT_EQ(info.frame(exit.node), 1);
  EXPECT_EQ(info.frame(after.node), 0);
}

TEST_F(ControlFlowCheckTest, FramesNest) {
  const Output outer = Enter("outer", Scalar("x"), "a");
  const Output inner = Loop("in_", outer, "b");
  b_.Op("Exit", "out", {inner});
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(b_.graph(), LoadLimits()));
  ASSERT_EQ(info.frames.size(), 3u);
  EXPECT_EQ(info.frames[2].parent, 1);
  EXPECT_EQ(info.frames[2].depth, 2);
  EXPECT_EQ(info.frame(b_.graph().Find("out")), 1);
}

TEST_F(ControlFlowCheckTest, ControlInputsPlaceNodesToo) {
  const Output enter = Enter("e", Scalar("x"), "f");
  const Output inside = b_.Op("NoOp", "inside");
  b_.AddControl(inside, enter);
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(b_.graph(), LoadLimits()));
  EXPECT_EQ(info.frame(inside.node), 1);
}

TEST_F(ControlFlowCheckTest, InputsFromDifferentFramesAreRefused) {
  const Output a = Enter("a", Scalar("x"), "f"), c = Enter("c", Scalar("y"), "g");
  b_.Op("AddV2", "mix", {a, c});
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kFrameMixed, "AddV2 'mix': input 1 'c'"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, "frame 'f'"));
}

TEST_F(ControlFlowCheckTest, ValueFromOutsideOfALoopNeedsAnEnter) {
  const Output a = Enter("a", Scalar("x"), "f");
  b_.Op("Exit", "out", {b_.Op("AddV2", "mix", {Scalar("y"), a})});
  EXPECT_THAT(Check(), IsError(ErrorCode::kFrameMixed, "'mix': input 1 'a'"));
}

TEST_F(ControlFlowCheckTest, ControlEdgeAcrossFramesIsRefused) {
  const Output late = b_.Op("Relu", "late", {Scalar("x")});
  b_.AddControl(late, Enter("a", Scalar("y"), "f"));
  EXPECT_THAT(Check(), IsError(ErrorCode::kFrameMixed, "^a"));
}

TEST_F(ControlFlowCheckTest, MergeOfTwoFramesIsRefused) {
  b_.Op("Merge", "mix", {Enter("a", Scalar("x"), "f"), Scalar("y")});
  EXPECT_THAT(Check(), IsError(ErrorCode::kFrameMixed, "Merge 'mix'"));
}

TEST_F(ControlFlowCheckTest, OneFrameOfTwoParentsIsRefused) {
  const Output a = Enter("a", Scalar("x"), "f"), c = Enter("c", Scalar("y"), "g");
  Enter("ca", a, "h");
  Enter("cc", c, "h");
  EXPECT_THAT(Check(), IsError(ErrorCode::kFrameParent, "Enter 'cc'"));
}

TEST_F(ControlFlowCheckTest, FrameInsideItselfIsRefused) {
  Enter("again", Enter("a", Scalar("x"), "f"), "f");
  EXPECT_THAT(Check(), IsError(ErrorCode::kFrameParent, "Enter 'again'"));
}

TEST_F(ControlFlowCheckTest, EmptyFrameNameIsRefused) {
  b_.Op("Exit", "x", {Enter("e", Scalar("c"), "")});
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kFrameName, "frame_name"));
  EXPECT_THAT(Culprits(status), ElementsAre("e"));  // No complaint about the Exit.
}

TEST_F(ControlFlowCheckTest, LoopOpsOutsideOfFramesAreRefused) {
  b_.Op("Exit", "exit", {Scalar("x")});
  b_.Op("NextIteration", "next", {Scalar("y")});
  b_.Op("LoopCond", "cond", {b_.Const("z", Tensor::Scalar(true))});
  EXPECT_THAT(Culprits(Check()), ElementsAre("exit", "next", "cond"));
}

TEST_F(ControlFlowCheckTest, TwoLoopCondsInOneFrameAreRefused) {
  Loop("", Scalar("x"), "f");
  b_.Op("LoopCond", "second", {GraphBuilder::Nth(b_.Op("Identity", "i", {Output{b_.graph().Find("less"), 0}}), 0)});
  EXPECT_THAT(Check(), IsError(ErrorCode::kLoopCond, "LoopCond 'second'"));
}

TEST_F(ControlFlowCheckTest, LoopCounterMayHaveALoopCondOfItsOwn) {
  Loop("", Scalar("x"), "f");
  b_.Op("LoopCond", "LoopCounter/cond", {Output{b_.graph().Find("less"), 0}});
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(ControlFlowCheckTest, NextIterationMustFeedAMerge) {
  const Output enter = Enter("e", Scalar("x"), "f");
  b_.Op("Exit", "out", {b_.Op("NextIteration", "next", {enter})});
  EXPECT_THAT(Check(), IsError(ErrorCode::kNextIteration, "NextIteration 'next'"));
}

TEST_F(ControlFlowCheckTest, NextIterationOfAnotherFrameIsRefused) {
  const Output outer = Enter("outer", Scalar("x"), "f");
  const Output merge = b_.Op("Merge", "merge", {Enter("inner", outer, "g"), Output()});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {outer}));
  EXPECT_THAT(Check(), IsError(ErrorCode::kFrameMixed, "Merge 'merge': input 1 'next'"));
}

TEST_F(ControlFlowCheckTest, ParallelIterationsMustBePositive) {
  Enter("zero", Scalar("x"), "f", {{"parallel_iterations", 0}});
  Enter("minus", Scalar("y"), "g", {{"parallel_iterations", -1}});
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kParallelIterations, "attr 'parallel_iterations'"));
  EXPECT_THAT(Culprits(status), ElementsAre("zero", "minus"));
}

TEST_F(ControlFlowCheckTest, HugeParallelIterationsAreCutToTheLimit) {
  Enter("huge", Scalar("x"), "f", {{"parallel_iterations", int64_t{1} << 40}});
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(b_.graph(), LoadLimits()));
  EXPECT_EQ(info.frames[1].parallel_iterations, LoadLimits().max_parallel_iterations);
}

TEST_F(ControlFlowCheckTest, TenThousandNestedFramesAreOneErrorAndNoRecursion) {
  Output at = Scalar("x");
  for (int i = 0; i < 10'000; ++i) at = Enter("e" + std::to_string(i), at, "f" + std::to_string(i));
  const absl::Status status = Check();
  EXPECT_THAT(status, IsError(ErrorCode::kLimitFrames, "Enter 'e64'"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(AllErrors(status).size(), 1u);
}

TEST_F(ControlFlowCheckTest, AllErrorsComeAtOnce) {
  const Output a = Enter("a", Scalar("x"), "f"), c = Enter("c", Scalar("y"), "g");
  b_.Op("AddV2", "mix1", {a, c});
  b_.Op("AddV2", "mix2", {c, a});
  b_.Op("Exit", "stray", {Scalar("z")});
  EXPECT_EQ(AllErrors(Check()).size(), 3u);
}

TEST(ControlFlowOfBrokenGraphsTest, EdgesFromRemovedNodesAreOpen) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output enter = b.Op("Enter", "enter", {x}, {{"frame_name", "f"}});
  const Output merge = b.Op("Merge", "merge", {enter, enter});
  b.Op("Exit", "exit", {merge});
  ASSERT_OK(b.status());
  const absl::Status before = BuildControlFlowInfo(b.graph(), LoadLimits()).status();
  b.graph().RemoveNode(x.node);
  EXPECT_EQ(BuildControlFlowInfo(b.graph(), LoadLimits()).status().code(), before.code());
}

}  // namespace
}  // namespace sluice

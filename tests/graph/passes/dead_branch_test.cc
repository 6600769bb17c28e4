#include "graph/passes/dead_branch.h"

#include <string>

#include "graph/edit/graph_editor.h"
#include "graph/ir/builder.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ops/op_table.h"
#include "graph/passes/pass_context.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// cond(pred, neg(x), exp(x)) with a Retval behind the Merge.
class DeadBranchTest : public testing::Test {
 protected:
  DeadBranchTest() : b_(NewOpRegistry()) {}

  Output Branches(Output pred) {
    x_ = b_.Placeholder("x", DType::kFloat);
    sw_ = b_.Op("Switch", "sw", {x_, pred});
    neg_ = b_.Op("Neg", "neg", {GraphBuilder::Nth(sw_, 1)});
    exp_ = b_.Op("Exp", "exp", {sw_});
    merge_ = b_.Op("Merge", "merge", {exp_, neg_}, {{"N", int64_t{2}}});
    return b_.Op("_Retval", "ret", {merge_}, {{"index", int64_t{0}}});
  }
  Output Known(bool value) { return b_.Const("pred", Tensor::Scalar(value)); }
  int64_t Run(const std::vector<std::string>& keep = {}) {
    EXPECT_OK(b_.status());
    std::vector<NodeId> ids;
    for (const std::string& name : keep) ids.push_back(b_.graph().Find(name));
    GraphEditor edit(b_.graph());
    const absl::StatusOr<int64_t> removed = DeadBranchPass().Run(edit, PassContext(std::move(ids)));
    EXPECT_OK(removed);
    EXPECT_OK(CheckControlFlow(b_.graph(), LoadLimits()));
    return removed.value_or(-1);
  }
  std::string Text(absl::string_view name) { return NodeText(b_.graph(), name); }

  GraphBuilder b_;
  Output x_, sw_, neg_, exp_, merge_;
};

TEST_F(DeadBranchTest, TheBranchNotTakenGoes) {
  Branches(Known(true));
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(NodeNames(b_.graph()), "merge neg pred ret sw x");
  EXPECT_EQ(Text("sw"), "sw(x, ^pred)");
  EXPECT_EQ(Text("neg"), "neg(sw)");
  EXPECT_EQ(Text("merge"), "merge(neg)");
  for (const char* name : {"sw", "merge"}) EXPECT_TRUE(b_.graph().Is(b_.graph().Find(name), "Identity")) << name;
}

TEST_F(DeadBranchTest, TheOtherPortIsTakenForFalse) {
  Branches(Known(false));
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(NodeNames(b_.graph()), "exp merge pred ret sw x");
}

TEST_F(DeadBranchTest, AGradSumOutlivesWhatIsDeadInFrontOfIt) {
  Branches(Known(true));
  b_.Op("GradSum", "sum", {exp_, x_});
  EXPECT_EQ(Run(), 0) << "the branch is left as it is";
  EXPECT_EQ(Text("sum"), "sum(exp, x)");
}

TEST_F(DeadBranchTest, AnUnknownPredicateChangesNothing) {
  Branches(b_.Placeholder("pred", DType::kBool));
  EXPECT_EQ(Run(), 0);
}

TEST_F(DeadBranchTest, DeathFollowsDataAndControlEdges) {
  Branches(Known(true));
  const Output waits = b_.Op("NoOp", "waits");
  b_.AddControl(waits, exp_);
  b_.Op("Mul", "both", {x_, exp_});
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(NodeNames(b_.graph()), "merge neg pred ret sw x");
}

TEST_F(DeadBranchTest, AControlEdgeOfTheSwitchItselfStays) {
  Branches(Known(true));
  b_.AddControl(b_.Op("NoOp", "waits"), sw_);
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Text("waits"), "waits(^sw)");
}

TEST_F(DeadBranchTest, MergesAndTriggersOutliveDeadControlInputs) {
  Branches(Known(true));
  b_.AddControl(merge_, exp_);
  b_.AddControl(merge_, x_);
  const Output trigger = b_.Op("ControlTrigger", "trigger");
  b_.AddControl(trigger, exp_);
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Text("trigger"), "trigger()");
  EXPECT_EQ(Text("merge"), "merge(neg, ^x)");
  EXPECT_TRUE(b_.graph().Is(b_.graph().Find("merge"), "Merge")) << "an Identity would die with x";
}

TEST_F(DeadBranchTest, DeadnessThatIsSeenStays) {
  Branches(Known(true));
  b_.Op("_Retval", "seen", {exp_}, {{"index", int64_t{1}}});
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(Text("merge"), "merge(exp, neg)");
}

TEST_F(DeadBranchTest, TheIndexOfAMergeIsNotMoved) {
  Branches(Known(true));
  b_.Op("_Retval", "index", {GraphBuilder::Nth(merge_, 1)}, {{"index", int64_t{1}}});
  EXPECT_EQ(Run(), 0);
}

TEST_F(DeadBranchTest, KeptNodesStay) {
  Branches(Known(true));
  for (const char* name : {"exp", "sw", "merge"}) EXPECT_EQ(Run({name}), 0) << name;
  EXPECT_EQ(Run({"neg", "x"}), 1);
}

TEST_F(DeadBranchTest, OneSwitchThatStaysDoesNotHoldTheOthers) {
  Branches(Known(true));
  const Output other = b_.Op("Switch", "other", {x_, Output{b_.graph().Find("pred"), 0}});
  b_.Op("_Retval", "seen", {other}, {{"index", int64_t{1}}});
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Text("merge"), "merge(neg)");
  EXPECT_TRUE(b_.graph().Is(b_.graph().Find("other"), "Switch"));
}

TEST_F(DeadBranchTest, ConditionalsInDeadBranchesGoToo) {
  Branches(Known(true));
  const Output inner = b_.Op("Switch", "inner", {exp_, b_.Placeholder("p2", DType::kBool)});
  b_.Op("Merge", "inner_merge", {b_.Op("Neg", "n2", {inner}), GraphBuilder::Nth(inner, 1)}, {{"N", int64_t{2}}});
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(NodeNames(b_.graph()), "merge neg p2 pred ret sw x");
}

TEST_F(DeadBranchTest, LoopsAreLeftAlone) {
  Branches(Known(true));
  b_.Op("Exit", "exit", {b_.Op("Enter", "enter", {exp_}, {{"frame_name", "f"}})});
  EXPECT_EQ(Run(), 0);
}

}  // namespace
}  // namespace sluice

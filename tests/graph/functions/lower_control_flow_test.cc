#include "graph/functions/lower_control_flow.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "graph/functions/inliner.h"
#include "graph/ir/builder.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/topo_order.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

const std::vector<DType> kOneFloat = {DType::kFloat};

class LowerControlFlowTest : public testing::Test {
 protected:
  LowerControlFlowTest() {
    for (const FunctionText& text : {AddOne(), Negate(), LessThanTen(), SquarePlusOne()}) text.AddTo(graph());
  }
  Graph& graph() { return b_.graph(); }
  std::string Text(absl::string_view node) { return NodeText(graph(), node); }

  Output If(Output condition, GraphBuilder::Attrs attrs = {{"_lower_using_switch_merge", true}}) {
    attrs.insert(attrs.end(), {{"Tout", kOneFloat},
                               {"then_branch", AttrValue::Func("AddOne")},
                               {"else_branch", AttrValue::Func("SquarePlusOne")}});
    return b_.Op("If", "if", {condition, x_}, attrs);
  }
  Output While(std::vector<Output> inputs, absl::string_view cond, absl::string_view body) {
    return b_.Op("While", "while", std::move(inputs),
                 {{"cond", AttrValue::Func(cond)},
                  {"body", AttrValue::Func(body)},
                  {"parallel_iterations", 5},
                  {"_lower_using_switch_merge", true}});
  }
  // Lowers, inlines if `inline_calls`, and looks whether the result is sound.
  InlineReport Lower(bool inline_calls = false) {
    EXPECT_THAT(b_.status(), IsOk());
    InlineOptions options;
    options.inline_calls = inline_calls;
    options.keep = keep_;
    const absl::StatusOr<InlineReport> report = InlineFunctionCalls(graph(), options);
    EXPECT_THAT(report, IsOk());
    EXPECT_THAT(CheckAcyclic(graph()), IsOk());
    EXPECT_THAT(BuildControlFlowInfo(graph(), LoadLimits()).status(), IsOk());
    return report.value_or(InlineReport());
  }

  GraphBuilder b_{NewOpRegistry()};
  std::vector<NodeId> keep_;
  Output x_ = b_.Placeholder("x", DType::kFloat);
  Output p_ = b_.Placeholder("p", DType::kBool);
};

TEST_F(LowerControlFlowTest, IfBecomesSwitchAndMerge) {
  b_.Op("Relu", "after", {If(p_)});
  EXPECT_EQ(Lower().conditionals, 1);
  EXPECT_EQ(Text("if/pivot"), "if/pivot(p, p)");
  EXPECT_EQ(Text("if/pivot_else"), "if/pivot_else(if/pivot)");
  EXPECT_EQ(Text("if/pivot_then"), "if/pivot_then(if/pivot:1)");
  EXPECT_EQ(Text("if/switch_0"), "if/switch_0(x, p)");
  EXPECT_EQ(Text("if/else"), "if/else(if/switch_0, ^if/pivot_else)");
  EXPECT_EQ(Text("if/then"), "if/then(if/switch_0:1, ^if/pivot_then)");
  EXPECT_EQ(Text("if/merge_0"), "if/merge_0(if/else, if/then)");
  EXPECT_EQ(Text("after"), "after(if/merge_0)");
  EXPECT_TRUE(NodesOfOp(graph(), "If").empty());
}

TEST_F(LowerControlFlowTest, ControlEdgesOfAnIfKeepTheOrder) {
  const Output conditional = If(p_);
  b_.AddControl(conditional, b_.Op("NoOp", "before"));
  b_.AddControl(b_.Op("NoOp", "after"), conditional);
  Lower();
  EXPECT_EQ(Text("if/pivot"), "if/pivot(p, p, ^before)");
  EXPECT_EQ(Text("if/branch_executed"), "if/branch_executed(if/pivot_else, if/pivot_then, ^if/else, ^if/then)");
  EXPECT_EQ(Text("after"), "after(^if/branch_executed)");
}

TEST_F(LowerControlFlowTest, KeptIfCanBeFetchedUnderItsName) {
  keep_ = {If(p_).node};
  Lower();
  EXPECT_EQ(Text("if"), "if(if/merge_0, ^if/branch_executed)");
}

TEST_F(LowerControlFlowTest, NumericConditionGoesThroughToBool) {
  If(x_);
  Lower();
  EXPECT_EQ(Text("if/condition"), "if/condition(x)");
  EXPECT_EQ(Text("if/switch_0"), "if/switch_0(x, if/condition)");
}

TEST_F(LowerControlFlowTest, UnmarkedNodesStayUnlessAsked) {
  If(p_, {});
  EXPECT_EQ(Lower().conditionals, 0);
  InlineOptions options;
  options.lower_unmarked = true;
  ASSERT_OK_AND_ASSIGN(const InlineReport report, InlineFunctionCalls(graph(), options));
  EXPECT_EQ(report.conditionals, 1);
}

TEST_F(LowerControlFlowTest, NodesThatSayFalseStayAlways) {
  If(p_, {{"_lower_using_switch_merge", false}});
  InlineOptions options;
  options.lower_unmarked = true;
  ASSERT_OK_AND_ASSIGN(const InlineReport report, InlineFunctionCalls(graph(), options));
  EXPECT_EQ(report.conditionals, 0);
}

TEST_F(LowerControlFlowTest, BranchesAreInlinedWithTheirConstantsInTheBranch) {
  If(p_);
  EXPECT_EQ(Lower(/*inline_calls=*/true).calls, 2);
  EXPECT_EQ(Text("if/then/one"), "if/then/one(^Func/if/then/input_control_node/_0)");
  EXPECT_EQ(Text("if/merge_0"), "if/merge_0(Func/if/else/output/_0, Func/if/then/output/_0)");
}

TEST_F(LowerControlFlowTest, MessagesNameWhatTheUserWrote) {
  b_.Op("Relu", "after_if", {If(p_)});
  b_.Op("Relu", "after_while", {While({x_}, "LessThanTen", "AddOne")});
  Lower(/*inline_calls=*/true);
  const auto input_of = [this](absl::string_view node) {
    return UserOutputName(graph(), graph().inputs(graph().Find(node))[0]);
  };
  EXPECT_EQ(input_of("after_if"), "if");
  EXPECT_EQ(input_of("if/then/sum"), "x");
  EXPECT_EQ(input_of("if/merge_0"), "if/else/y");
  EXPECT_EQ(input_of("after_while"), "while");
  EXPECT_EQ(input_of("while/body/sum"), "while") << "a variable of a loop is known as the loop's output";
  for (const NodeId id : graph().Nodes()) {
    const std::string name(graph().name(id));
    const bool is_written = name == "x" || name == "p" || absl::StartsWith(name, "after") ||
                            absl::StartsWith(name, "if/then/") || absl::StartsWith(name, "if/else/") ||
                            absl::StartsWith(name, "while/body/") || absl::StartsWith(name, "while/cond/");
    EXPECT_EQ(MadeForOf(graph(), id).name == name, is_written) << name;
  }
}

TEST_F(LowerControlFlowTest, CaseUsesSwitchN) {
  const Output k = b_.Placeholder("k", DType::kInt32);
  std::string list;  // list(func) has no constructor of its own: each function is field 9 of field 1.
  std::vector<std::string> names = {"AddOne", "Negate", "SquarePlusOne"};
  AttrValue branches = AttrValue::FromBytes("");
  for (const std::string& name : names) {
    const std::string func = std::string("\x0a") + static_cast<char>(name.size()) + name;
    list += std::string("\x4a") + static_cast<char>(func.size()) + func;
  }
  branches = AttrValue::FromBytes(std::string("\x0a") + static_cast<char>(list.size()) + list);
  b_.Op("Case", "case", {k, x_}, {{"Tout", kOneFloat}, {"branches", branches}, {"_lower_using_switch_merge", true}});
  EXPECT_EQ(Lower().conditionals, 1);
  EXPECT_EQ(Text("case/switch_0"), "case/switch_0(x, k)");
  EXPECT_TRUE(graph().Is(graph().Find("case/switch_0"), "_SwitchN"));
  EXPECT_EQ(Text("case/branch_2"), "case/branch_2(case/switch_0:2, ^case/pivot_branch_2)");
  EXPECT_EQ(Text("case/merge_0"), "case/merge_0(case/branch_0, case/branch_1, case/branch_2)");
}

TEST_F(LowerControlFlowTest, WhileBecomesAFrame) {
  b_.Op("Relu", "after", {While({x_}, "LessThanTen", "AddOne")});
  EXPECT_EQ(Lower().loops, 1);
  EXPECT_EQ(Text("while/merge_0"), "while/merge_0(while/enter_0, while/next_0)");
  EXPECT_EQ(Text("while/cond"), "while/cond(while/merge_0)");
  EXPECT_EQ(Text("while/loop_cond"), "while/loop_cond(while/cond)");
  EXPECT_EQ(Text("while/switch_0"), "while/switch_0(while/merge_0, while/loop_cond)");
  EXPECT_EQ(Text("while/body"), "while/body(while/switch_0:1, ^while/body_control)");
  EXPECT_EQ(Text("while/next_0"), "while/next_0(while/body)");
  EXPECT_EQ(Text("while/exit_0"), "while/exit_0(while/switch_0)");
  EXPECT_EQ(Text("after"), "after(while/exit_0)");
  const NodeId enter = graph().Find("while/enter_0");
  EXPECT_EQ(*graph().GetString(enter, "frame_name"), "while");
  EXPECT_EQ(*graph().GetInt(enter, "parallel_iterations"), 5);
}

TEST_F(LowerControlFlowTest, InlinedLoopIsASoundFrame) {
  While({x_}, "LessThanTen", "SquarePlusOne");
  EXPECT_EQ(Lower(/*inline_calls=*/true).calls, 2);
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(graph(), LoadLimits()));
  ASSERT_EQ(info.frames.size(), 2u);
  EXPECT_EQ(info.frame(graph().Find("while/body/one")), 1);
  EXPECT_EQ(info.frame(graph().Find("while/cond/ten")), 1);
}

TEST_F(LowerControlFlowTest, ControlEdgesOfAWhileKeepTheOrder) {
  const Output loop = While({x_}, "LessThanTen", "AddOne");
  b_.AddControl(loop, b_.Op("NoOp", "before"));
  b_.AddControl(b_.Op("NoOp", "after"), loop);
  Lower();
  EXPECT_EQ(Text("while/enter_0"), "while/enter_0(x, ^before)");
  EXPECT_EQ(Text("after"), "after(^while/exit_0)");
}

// cond(a, b) = a < b; body(a, b) = a + 1, b.
void AddConstantLoop(Graph& graph) {
  FunctionText cond("Less");
  cond.Arg("a: float")
      .Arg("b: float")
      .Result("r: bool", "n:z:0")
      .Node("n = Less(a, b)", {{"T", DType::kFloat}})
      .AddTo(graph);
  FunctionText body("Step");
  body.Arg("a: float").Arg("b: float").Result("a2: float", "n:y:0").Result("b2: float", "b");
  body.Node("n = AddOne(a)").AddTo(graph);
}

TEST_F(LowerControlFlowTest, UnchangedVariableEntersAsAConstant) {
  AddConstantLoop(graph());
  const Output limit = b_.Placeholder("limit", DType::kFloat);
  const Output loop = While({x_, limit}, "Less", "Step");
  b_.Op("Relu", "after", {GraphBuilder::Nth(loop, 1)});
  Lower();
  EXPECT_TRUE(*graph().GetBool(graph().Find("while/enter_1"), "is_constant"));
  EXPECT_EQ(Text("while/cond"), "while/cond(while/merge_0, while/enter_1)");
  EXPECT_EQ(Text("while/body"), "while/body(while/switch_0:1, while/enter_1, ^while/body_control)");
  EXPECT_FALSE(graph().Find("while/exit_1").valid());
  EXPECT_EQ(Text("after"), "after(Func/while/unchanged/_1)");
  EXPECT_EQ(Text("Func/while/unchanged/_1"), "Func/while/unchanged/_1(limit, ^while/exit_0)");
}

TEST_F(LowerControlFlowTest, EffectsOfABodyComeBeforeTheNextIteration) {
  FunctionText body("Noisy");
  body.Arg("a: float").Result("r: float", "a").Stateful().ControlResult("print", "print");
  body.Node("print = Print(a)", {{"T", DType::kFloat}, {"U", std::vector<DType>()}}).AddTo(graph());
  While({x_}, "LessThanTen", "Noisy");
  Lower(/*inline_calls=*/true);
  EXPECT_EQ(Text("while/next_0"), "while/next_0(Func/while/body/output/_0, ^while/body/print)");
}

TEST_F(LowerControlFlowTest, LoopInALoopNestsFrames) {
  FunctionText body("Inner");
  body.Arg("a: float").Result("r: float", "w:output:0");
  body.Node("w = While(a)", {{"T", kOneFloat},
                             {"cond", AttrValue::Func("LessThanTen")},
                             {"body", AttrValue::Func("AddOne")},
                             {"_lower_using_switch_merge", true}});
  body.AddTo(graph());
  While({x_}, "LessThanTen", "Inner");
  EXPECT_EQ(Lower(/*inline_calls=*/true).loops, 2);
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(graph(), LoadLimits()));
  ASSERT_EQ(info.frames.size(), 3u);
  EXPECT_EQ(info.frames[2].name, "while/body/w");
  EXPECT_EQ(info.frames[2].parent, 1);
}

TEST_F(LowerControlFlowTest, IfInALoopAndLoopInAnIfAreSound) {
  FunctionText body("Maybe");
  body.Arg("a: float").Result("r: float", "i:output:0").Node("c = LessThanTen(a)");
  body.Node("i = If(c:r:0, a)", {{"Tcond", DType::kBool},
                                 {"Tin", kOneFloat},
                                 {"Tout", kOneFloat},
                                 {"then_branch", AttrValue::Func("AddOne")},
                                 {"else_branch", AttrValue::Func("SquarePlusOne")},
                                 {"_lower_using_switch_merge", true}});
  body.AddTo(graph());
  While({x_}, "LessThanTen", "Maybe");
  const InlineReport report = Lower(/*inline_calls=*/true);
  EXPECT_EQ(report.loops, 1);
  EXPECT_EQ(report.conditionals, 1);
}

// The variable may be on another device than the loop.
TEST_F(LowerControlFlowTest, ResourcesAreNotMovedToTheLoopsDevice) {
  FunctionText("Go")
      .Arg("h: resource")
      .Arg("a: float")
      .Result("r: bool", "c:z:0")
      .Node("c = Less(a, a)", {{"T", DType::kFloat}})
      .AddTo(graph());
  FunctionText step("Step");
  step.Arg("h: resource").Arg("a: float").Result("o: resource", "h").Result("b: float", "a").Stateful();
  step.Node("add = AssignAddVariableOp(h, a)", {{"dtype", DType::kFloat}}).AddTo(graph());
  const Output h = b_.Op("VarHandleOp", "h", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  b_.SetDevice(While({h, x_}, "Go", "Step"), "/device:CPU:1");
  Lower();
  EXPECT_EQ(graph().device(graph().Find("while/enter_0")), "");
  EXPECT_EQ(graph().device(graph().Find("while/enter_1")), "/device:CPU:1");
}

TEST_F(LowerControlFlowTest, LoopWithoutVariablesStays) {
  FunctionText("Always")
      .Result("r: bool", "t:output:0")
      .Node("t = Const()", {{"dtype", DType::kBool}, {"value", Tensor::Scalar(true)}})
      .AddTo(graph());
  FunctionText("Nothing").Node("n = NoOp()").AddTo(graph());
  b_.Op("While", "while", {},
        {{"T", std::vector<DType>()},
         {"cond", AttrValue::Func("Always")},
         {"body", AttrValue::Func("Nothing")},
         {"_lower_using_switch_merge", true}});
  EXPECT_EQ(Lower().loops, 0);
}

// The first loop to be replaced is the last of the chain: what it hands on unchanged comes through all the others.
TEST_F(LowerControlFlowTest, LongChainsOfLoopsInReverseOrderNeedNoStack) {
  FunctionText body("StepAndKeep");
  body.Arg("a: float")
      .Arg("c: float")
      .Result("r: float", "n:y:0")
      .Result("s: float", "c")
      .Node("n = Neg(a)", {{"T", DType::kFloat}});
  body.AddTo(graph());
  FunctionText cond("Never");
  cond.Arg("a: float").Arg("c: float").Result("r: bool", "n:z:0").Node("n = Less(a, c)", {{"T", DType::kFloat}});
  cond.AddTo(graph());
  constexpr int kLoops = 30'000;
  const std::vector<DType> types = {DType::kFloat, DType::kFloat};
  std::vector<Output> loops;  // The last of the chain first.
  for (int i = 0; i < kLoops; ++i) {
    loops.push_back(b_.Op("While", "", {Output(), Output()},
                          {{"T", types},
                           {"cond", AttrValue::Func("Never")},
                           {"body", AttrValue::Func("StepAndKeep")},
                           {"_lower_using_switch_merge", true}}));
  }
  b_.Op("Neg", "end", {GraphBuilder::Nth(loops.front(), 1)});
  for (int i = 0; i < kLoops; ++i) {
    const bool is_first = i + 1 == kLoops;
    b_.SetInput(loops[static_cast<size_t>(i)], 0, x_);
    b_.SetInput(loops[static_cast<size_t>(i)], 1,
                is_first ? x_ : GraphBuilder::Nth(loops[static_cast<size_t>(i + 1)], 1));
  }
  EXPECT_EQ(Lower().loops, kLoops);
  // From gate to gate back to where it came from.
  NodeId at = graph().Find("end");
  int gates = 0;
  for (; graph().inputs(at).size() == 1; at = graph().inputs(at)[0].node) ++gates;
  EXPECT_EQ(at, x_.node);
  EXPECT_EQ(gates, kLoops + 1);
}

}  // namespace
}  // namespace sluice

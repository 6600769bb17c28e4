#include "graph/functions/inliner.h"

#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"
#include "graph/functions/call_choice.h"
#include "graph/functions/call_states.h"
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

class InlinerTest : public testing::Test {
 protected:
  Graph& graph() { return b_.graph(); }
  Output X() { return b_.Placeholder("x", DType::kFloat); }
  InlineReport Inline(const InlineOptions& options = InlineOptions()) {
    EXPECT_THAT(b_.status(), IsOk());
    const absl::StatusOr<InlineReport> report = InlineFunctionCalls(graph(), options);
    EXPECT_THAT(report, IsOk());
    EXPECT_THAT(CheckAcyclic(graph()), IsOk());
    EXPECT_THAT(BuildControlFlowInfo(graph(), LoadLimits()).status(), IsOk());
    return report.value_or(InlineReport());
  }
  std::string Text(absl::string_view node) { return NodeText(graph(), node); }

  GraphBuilder b_{NewOpRegistry()};
};

TEST_F(InlinerTest, MessagesNameTheTensorsOfTheCallerAndOfItsCalls) {
  for (const FunctionText& text : {XTimesTwo(), XTimesFour()}) text.AddTo(graph());
  const Output four = Call(b_, "four", "XTimesFour", {X()}, {DType::kFloat}, {{"T", DType::kFloat}});
  b_.Op("Relu", "after", {four});
  Inline();
  const auto input_of = [this](absl::string_view node) {
    return UserOutputName(graph(), graph().inputs(graph().Find(node))[0]);
  };
  EXPECT_EQ(input_of("after"), "four");
  EXPECT_EQ(input_of("four/x2/y"), "x");
  EXPECT_EQ(input_of("four/y/y"), "four/x2");
}

TEST_F(InlinerTest, CallBecomesItsBodyBetweenIdentities) {
  SquarePlusOne().AddTo(graph());
  b_.Op("Relu", "after", {Call(b_, "call", "SquarePlusOne", {X()}, {DType::kFloat})});
  const InlineReport report = Inline();
  EXPECT_EQ(report.calls, 1);
  EXPECT_EQ(report.nodes_added, 5);
  EXPECT_EQ(Text("Func/call/input/_0"), "Func/call/input/_0(x)");
  EXPECT_EQ(Text("call/square"), "call/square(Func/call/input/_0)");
  EXPECT_EQ(Text("call/y"), "call/y(call/square, call/one)");
  EXPECT_EQ(Text("after"), "after(Func/call/output/_0)");
  EXPECT_FALSE(graph().Find("call").valid());
}

TEST_F(InlinerTest, CallsMayBeLeftAsTheyAreInBodiesToo) {
  XTimesTwo().AddTo(graph());
  XTimesFour().AddTo(graph());
  Negate().AddTo(graph());
  const Output x = X();
  b_.Op("Relu", "after", {b_.Op("XTimesFour", "four", {x})});
  Call(b_, "other", "Negate", {x}, {DType::kFloat});
  const absl::AnyInvocable<bool(NodeId) const> leave = [this](NodeId id) {
    return graph().name(id) == "other" || graph().name(id) == "four/x2";
  };
  InlineOptions options;
  options.leave = &leave;
  options.keep_all = true;
  EXPECT_EQ(Inline(options).calls, 2);
  EXPECT_TRUE(graph().Is(graph().Find("other"), "PartitionedCall"));
  EXPECT_TRUE(graph().Is(graph().Find("four/x2"), "XTimesTwo"));
  EXPECT_TRUE(graph().Is(graph().Find("four"), "IdentityN"));
}

TEST_F(InlinerTest, WhatABodyDoesNotNeedIsLeftOutUnlessAskedFor) {
  FunctionText("F")
      .Arg("a: float")
      .Result("r: float", "a")
      .Node("aside = Relu(a)", {{"T", DType::kFloat}})
      .AddTo(graph());
  for (const bool prune : {true, false}) {
    const GraphBuilder before = b_;
    b_.Op("F", "call", {X()});
    InlineOptions options;
    options.prune = prune;
    Inline(options);
    EXPECT_EQ(graph().Find("call/aside").valid(), !prune);
    b_ = before;
  }
}

TEST_F(InlinerTest, NestedDirectCallsAreInlinedToTheEnd) {
  XTimesTwo().AddTo(graph());
  XTimesFour().AddTo(graph());
  b_.Op("Relu", "after", {b_.Op("XTimesFour", "four", {X()})});
  EXPECT_EQ(Inline().calls, 3);
  EXPECT_EQ(NodesOfOp(graph(), "Mul"), (std::vector<std::string>{"four/x2/y", "four/y/y"}));
  EXPECT_EQ(Text("Func/four/y/input/_0"), "Func/four/y/input/_0(Func/four/x2/output/_0)");
  EXPECT_EQ(Text("Func/four/output/_0"), "Func/four/output/_0(Func/four/y/output/_0)");
}

TEST_F(InlinerTest, ControlInputsHoldArgumentsBack) {
  Negate().AddTo(graph());
  const Output call = Call(b_, "call", "Negate", {X()}, {DType::kFloat});
  b_.AddControl(call, b_.Op("NoOp", "first"));
  Inline();
  EXPECT_EQ(Text("Func/call/input_control_node/_0"), "Func/call/input_control_node/_0(^first)");
  EXPECT_EQ(Text("Func/call/input/_0"), "Func/call/input/_0(x, ^Func/call/input_control_node/_0)");
}

TEST_F(InlinerTest, WhoWaitsForTheCallWaitsForItsControlResults) {
  Bump().AddTo(graph());
  const Output h = b_.Op("VarHandleOp", "h", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  const Output call = Call(b_, "call", "Bump", {h}, {DType::kFloat}, {}, "StatefulPartitionedCall");
  const Output read = b_.Op("ReadVariableOp", "read", {h}, {{"dtype", DType::kFloat}});
  b_.AddControl(read, call);
  Inline();
  EXPECT_EQ(Text("read"), "read(h, ^call/add)");
}

TEST_F(InlinerTest, WithoutControlResultsItWaitsForResultsAndEffects) {
  FunctionText text("F");
  text.Arg("a: float").Result("r: float", "a").Stateful();
  text.Node("p = Print(a)", {{"T", DType::kFloat}, {"U", std::vector<DType>()}});
  text.AddTo(graph());
  const Output after = b_.Op("NoOp", "after");
  b_.AddControl(after, b_.Op("F", "call", {X()}));
  Inline();
  EXPECT_EQ(Text("after"), "after(^Func/call/output_control_node/_0)");
  EXPECT_EQ(Text("Func/call/output_control_node/_0"),
            "Func/call/output_control_node/_0(^Func/call/output/_0, ^call/p)");
}

TEST_F(InlinerTest, ACallThatDoesNothingIsDoneAtOnceOrWhenItMayBegin) {
  FunctionText("F").Node("aside = NoOp()").AddTo(graph());
  const Output free = Call(b_, "free", "F", {}, {}), held = Call(b_, "held", "F", {}, {});
  b_.AddControl(held, X());
  b_.AddControl(b_.Op("NoOp", "after_free"), free);
  b_.AddControl(b_.Op("NoOp", "after_held"), held);
  SquarePlusOne().AddTo(graph());
  const Output late = Call(b_, "late", "SquarePlusOne", {b_.Placeholder("y", DType::kFloat)}, {DType::kFloat});
  b_.AddControl(late, held);
  b_.AddControl(b_.Op("NoOp", "after_late"), late);
  Inline();
  EXPECT_EQ(Text("after_late"), "after_late(^Func/late/output/_0)") << "which has waited for what `late` waits for";
  EXPECT_EQ(Text("after_free"), "after_free()");
  EXPECT_EQ(Text("after_held"), "after_held(^Func/held/input_control_node/_0)");
}

// A program that waits for one call by handing its result to the next leaves no other trace of that.
TEST_F(InlinerTest, EffectsWaitForArgumentsThatTheyDoNotRead) {
  FunctionText text("F");
  text.Arg("h: resource").Arg("a: float").Result("r: float", "a").Stateful();
  text.ControlResult("add", "add").ControlResult("set", "set");
  text.Node("one = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar<float>(1)}});
  text.Node("add = AssignAddVariableOp(h, one:output:0)", {{"dtype", DType::kFloat}});
  text.Node("set = AssignVariableOp(h, a)", {{"dtype", DType::kFloat}}).AddTo(graph());
  const Output h = b_.Op("VarHandleOp", "h", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  Call(b_, "call", "F", {h, X()}, {DType::kFloat}, {}, "StatefulPartitionedCall");
  Inline();
  EXPECT_EQ(Text("call/add"), "call/add(Func/call/input/_0, call/one, ^Func/call/inputs_ready/_0)");
  EXPECT_EQ(Text("Func/call/inputs_ready/_0"), "Func/call/inputs_ready/_0(^Func/call/input/_0, ^Func/call/input/_1)");
  EXPECT_EQ(Text("call/set"), "call/set(Func/call/input/_0, Func/call/input/_1)") << "it reads them all";
}

TEST_F(InlinerTest, EffectsInALoopOfTheBodyWaitInItsFrameOnly) {
  FunctionText text("F");
  text.Arg("a: float").Arg("n: float").Result("r: float", "exit:output:0").Stateful();
  text.Node("enter = Enter(a)", {{"T", DType::kFloat}, {"frame_name", "loop"}});
  text.Node("p = Print(enter:output:0)", {{"T", DType::kFloat}, {"U", std::vector<DType>()}});
  text.Node("exit = Exit(p:output:0)", {{"T", DType::kFloat}});
  text.Node("q = Print(exit:output:0)", {{"T", DType::kFloat}, {"U", std::vector<DType>()}}).AddTo(graph());
  b_.Op("F", "call", {X(), b_.Placeholder("n", DType::kFloat)});
  Inline();  // Which checks frames.
  EXPECT_EQ(Text("call/p"), "call/p(call/enter)");
  EXPECT_EQ(Text("call/q"), "call/q(call/exit, ^Func/call/inputs_ready/_0)");
}

TEST_F(InlinerTest, ControlEdgesGoThroughNestedCalls) {
  Bump().AddTo(graph());
  FunctionText text("Outer");
  text.Arg("h: resource").Stateful().Node("inner = Bump(h)").ControlResult("done", "inner").AddTo(graph());
  const Output h = b_.Op("VarHandleOp", "h", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  const Output after = b_.Op("NoOp", "after");
  b_.AddControl(after, Call(b_, "call", "Outer", {h}, {}, {}, "StatefulPartitionedCall"));
  Inline();
  const std::string wait = Text("after");
  EXPECT_EQ(wait, "after(^Func/call/inner/output_control_node/_0)");
}

TEST_F(InlinerTest, BodyNodesWithoutInputsStandInTheCallsBranch) {
  SquarePlusOne().AddTo(graph());
  const Output p = b_.Placeholder("p", DType::kBool);
  const Output branch = b_.Op("Switch", "switch", {X(), p});
  Call(b_, "call", "SquarePlusOne", {GraphBuilder::Nth(branch, 1)}, {DType::kFloat});
  Inline();
  EXPECT_EQ(Text("call/one"), "call/one(^Func/call/inputs_ready/_0)");
  EXPECT_EQ(Text("Func/call/inputs_ready/_0"), "Func/call/inputs_ready/_0(^Func/call/input/_0)");
}

TEST_F(InlinerTest, BodyStandsInTheCallsFrame) {
  SquarePlusOne().AddTo(graph());
  const Output enter = b_.Op("Enter", "enter", {X()}, {{"frame_name", "f"}});
  b_.Op("Exit", "exit", {Call(b_, "call", "SquarePlusOne", {enter}, {DType::kFloat})});
  Inline();
  ASSERT_OK_AND_ASSIGN(const ControlFlowInfo info, BuildControlFlowInfo(graph(), LoadLimits()));
  EXPECT_EQ(info.frame(graph().Find("call/one")), 1);
}

TEST_F(InlinerTest, FramesAndColocationFollowTheNewNames) {
  FunctionText text("F");
  text.Arg("a: float").Result("r: float", "exit:output:0");
  text.Node("enter = Enter(a)", {{"T", DType::kFloat}, {"frame_name", "loop"}});
  text.Node("exit = Exit(enter:output:0)",
            {{"T", DType::kFloat}, {"_class", std::vector<std::string>{"loc:@enter", "loc:@elsewhere"}}});
  text.AddTo(graph());
  b_.Op("F", "one", {X()});
  b_.Op("F", "two", {Output{graph().Find("x"), 0}});
  Inline();
  EXPECT_EQ(*graph().GetString(graph().Find("one/enter"), "frame_name"), "one/loop");
  EXPECT_EQ(*graph().GetString(graph().Find("two/enter"), "frame_name"), "two/loop");
  ASSERT_OK_AND_ASSIGN(const AttrView groups, graph().GetAttr(graph().Find("one/exit"), "_class"));
  EXPECT_EQ(*groups.AsStringList(), (std::vector<absl::string_view>{"loc:@one/enter", "loc:@elsewhere"}));
}

// tf.import_graph_def refuses a graph with a node that is to stand with one that is not there.
TEST_F(InlinerTest, WhatStandsWithAnArgumentStandsWithItsIdentity) {
  FunctionText text("F");
  text.Arg("a: float").Arg("b: float").Result("r: float", "n:y:0");
  text.Node("n = Neg(m:y:0)", {{"T", DType::kFloat}, {"_class", std::vector<std::string>{"loc:@m", "loc:@b"}}});
  text.Node("m = Neg(a) @ /device:CPU:1", {{"T", DType::kFloat}, {"_class", std::vector<std::string>{"loc:@a"}}});
  text.AddTo(graph());
  const Output x = X();
  b_.SetDevice(x, "/device:CPU:2");
  b_.Op("F", "call", {x, b_.Op("Neg", "y", {x})});
  Inline();
  const auto groups = [this](absl::string_view node) {
    AttrView value;
    EXPECT_TRUE(graph().FindAttr(graph().Find(node), "_class", &value));
    return value.AsStringList().value_or(std::vector<absl::string_view>{"none"});
  };
  EXPECT_EQ(groups("call/n"), (std::vector<absl::string_view>{"loc:@call/m", "loc:@Func/call/input/_1"}));
  EXPECT_TRUE(groups("call/m").empty()) << "it is to be elsewhere";
}

TEST_F(InlinerTest, DevicesOfTheCallFillIn) {
  FunctionText text("F");
  text.Arg("a: float").Result("r: float", "n:y:0");
  text.Node("n = Neg(m:y:0) @ /device:GPU:1", {{"T", DType::kFloat}}).Node("m = Neg(a)", {{"T", DType::kFloat}});
  text.AddTo(graph());
  b_.SetDevice(b_.Op("F", "call", {X()}), "/job:w/task:2/device:CPU:0");
  Inline();
  EXPECT_EQ(graph().device(graph().Find("call/m")), "/job:w/task:2/device:CPU:0");
  EXPECT_EQ(graph().device(graph().Find("call/n")), "/job:w/task:2/device:GPU:1");
}

TEST_F(InlinerTest, OpsOnResourcesStandWithThemAndNotWithTheCall) {
  FunctionText text("F");
  text.Arg("h: resource").Result("r: float", "far:value:0").Stateful();
  text.Node("read = ReadVariableOp(h)", {{"dtype", DType::kFloat}});
  text.Node("far = ReadVariableOp(h) @ /device:CPU:1", {{"dtype", DType::kFloat}});
  text.Node("n = Neg(read:value:0)", {{"T", DType::kFloat}}).AddTo(graph());
  const Output h = b_.Op("VarHandleOp", "h", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  b_.SetDevice(b_.Op("F", "call", {h}), "/device:CPU:2");
  Inline();
  EXPECT_EQ(graph().device(graph().Find("call/read")), "");
  EXPECT_EQ(graph().device(graph().Find("call/far")), "/device:CPU:1");
}

TEST_F(InlinerTest, InlinedCallsOfOneFunctionShareItsState) {
  FunctionText text("F");
  text.Result("r: resource", "v:resource:0").Stateful().FunctionAttr("_noinline", AttrValue(true));
  text.Node("v = VarHandleOp()", {{"dtype", DType::kFloat}, {"shape", PartialShape()}}).AddTo(graph());
  Call(b_, "a", "F", {}, {DType::kResource}, {}, "StatefulPartitionedCall");
  Call(b_, "b", "F", {}, {DType::kResource}, {}, "StatefulPartitionedCall");
  b_.Op("F", "direct");
  ASSERT_OK(b_.status());
  const CallChoice choice(graph(), CallPolicy::kInline, [](const OpSchema& op) { return op.name == "VarHandleOp"; });
  CallStates states;
  InlineOptions options;
  options.choice = &choice;
  options.states = &states;
  EXPECT_EQ(Inline(options).calls, 3);
  const auto state_of = [this](absl::string_view name) {
    return std::string(graph().GetString(graph().Find(name), CallStates::kNodeAttr).value_or("none"));
  };
  EXPECT_EQ(state_of("a/v"), "1/v");
  EXPECT_EQ(state_of("b/v"), "1/v");
  EXPECT_EQ(state_of("direct/v"), "2/v") << "direct calls share one of their own";
}

TEST_F(InlinerTest, NoinlineFunctionsStayCalls) {
  Negate().FunctionAttr("_noinline", true).AddTo(graph());
  Call(b_, "call", "Negate", {X()}, {DType::kFloat});
  EXPECT_EQ(Inline().calls, 0);
  EXPECT_TRUE(graph().Find("call").valid());
}

TEST_F(InlinerTest, SymbolicGradientStays) {
  Negate().AddTo(graph());
  const Output x = X();
  b_.Op("SymbolicGradient", "grad", {x, x},
        {{"Tout", std::vector<DType>{DType::kFloat}}, {"f", AttrValue::Func("Negate")}});
  Inline();
  EXPECT_TRUE(graph().Find("grad").valid());
}

TEST_F(InlinerTest, UnneededStatelessNodesAreLeftOut) {
  FunctionText text("F");
  text.Arg("a: float").Result("r: float", "a").Node("dead = Neg(a)", {{"T", DType::kFloat}}).AddTo(graph());
  b_.Op("F", "call", {X()});
  Inline();
  EXPECT_TRUE(NodesOfOp(graph(), "Neg").empty());
}

TEST_F(InlinerTest, KeptCallsCanStillBeFetchedByName) {
  Negate().AddTo(graph());
  FunctionText("Nothing").Node("n = NoOp()").ControlResult("done", "n").AddTo(graph());
  const Output call = Call(b_, "call", "Negate", {X()}, {DType::kFloat});
  const Output none = Call(b_, "none", "Nothing", {}, {});
  Call(b_, "gone", "Negate", {call}, {DType::kFloat});
  InlineOptions options;
  options.keep = {call.node, none.node};
  Inline(options);
  EXPECT_TRUE(graph().Is(graph().Find("call"), "IdentityN"));
  EXPECT_EQ(Text("call"), "call(Func/call/output/_0, ^Func/call/output/_0)");
  EXPECT_EQ(Text("none"), "none(^none/n)");
  EXPECT_FALSE(graph().Find("gone").valid());
}

TEST_F(InlinerTest, TakenNamesAreStepped) {
  Negate().AddTo(graph());
  b_.Op("NoOp", "call/neg");
  Call(b_, "call", "Negate", {X()}, {DType::kFloat});
  Inline();
  EXPECT_EQ(NodesOfOp(graph(), "Neg"), std::vector<std::string>{"call/neg_1"});
}

TEST_F(InlinerTest, LimitsStopIt) {
  XTimesTwo().AddTo(graph());
  XTimesFour().AddTo(graph());
  b_.Op("XTimesFour", "four", {X()});
  InlineOptions options;
  options.limits.max_expanded_nodes = 10;
  Graph copy = graph();
  EXPECT_THAT(InlineFunctionCalls(copy, options), IsError(ErrorCode::kLimitNodes));
  options = InlineOptions();
  options.limits.max_call_depth = 1;
  copy = graph();
  EXPECT_THAT(InlineFunctionCalls(copy, options), IsError(ErrorCode::kLimitCallDepth, "four/x2"));
}

TEST_F(InlinerTest, ALongChainOfCallsIsInlinedInOneWalk) {
  Negate().AddTo(graph());
  Output at = X();
  constexpr int kCalls = 5'000;
  for (int i = 0; i < kCalls; ++i) at = b_.Op("Negate", absl::StrCat("c", i), {at});
  b_.Op("Relu", "after", {at});
  EXPECT_EQ(Inline().calls, kCalls);
  EXPECT_EQ(graph().num_nodes(), 3u * kCalls + 2u);
}

}  // namespace
}  // namespace sluice

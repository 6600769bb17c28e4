#include "graph/functions/call_choice.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class CallChoiceTest : public ::testing::Test {
 protected:
  CallChoiceTest() : b_(NewOpRegistry()) {}

  // A chain of `length` Negs, and a call of `callee` before it where that has a name.
  static FunctionText Chain(absl::string_view name, int length, const std::string& callee = "") {
    FunctionText text(name);
    text.Arg("x: float").Result("y: float", absl::StrCat("n", length - 1, ":y:0"));
    std::string last = "x";
    if (!callee.empty()) {
      text.Node(absl::StrCat("c = ", callee, "(x)"));
      last = "c:y:0";
    }
    for (int i = 0; i < length; ++i) {
      text.Node(absl::StrCat("n", i, " = Neg(", last, ")"), {{"T", DType::kFloat}});
      last = absl::StrCat("n", i, ":y:0");
    }
    return text;
  }
  void AddCalls(const std::string& function, int count) {
    Output y = b_.Placeholder(absl::StrCat("x", num_calls_), DType::kFloat);
    for (int i = 0; i < count; ++i) {
      y = Call(b_, absl::StrCat("call", num_calls_++), function, {y}, {DType::kFloat});
    }
  }
  bool IsCalled(const std::string& function, CallPolicy policy = CallPolicy::kByCost) {
    EXPECT_OK(b_.status());
    return CallChoice(b_.graph(), policy, [](const OpSchema& op) { return op.name == "Print"; }).IsCalled(function);
  }

  GraphBuilder b_;
  int num_calls_ = 0;
};

TEST_F(CallChoiceTest, CostIsNodesTimesCalls) {
  Chain("Long", 1000).AddTo(b_.graph());
  Chain("Short", 31).AddTo(b_.graph());
  AddCalls("Long", 65);
  AddCalls("Short", 3000);
  EXPECT_FALSE(IsCalled("Long"));
  EXPECT_FALSE(IsCalled("Short")) << "calls of small bodies cost more than their nodes";
  AddCalls("Long", 1);
  EXPECT_TRUE(IsCalled("Long"));
  EXPECT_FALSE(IsCalled("Long", CallPolicy::kInline));
  EXPECT_TRUE(IsCalled("Short", CallPolicy::kCall));
}

TEST_F(CallChoiceTest, CallsInABodyThatIsCalledCountOnce) {
  Chain("Inner", 1000).AddTo(b_.graph());
  Chain("Outer", 100, "Inner").AddTo(b_.graph());
  AddCalls("Outer", 100);
  EXPECT_TRUE(IsCalled("Outer"));
  EXPECT_FALSE(IsCalled("Inner")) << "it is in one body only";
}

TEST_F(CallChoiceTest, OpsAreLookedAtOnce) {
  Chain("First", 100).AddTo(b_.graph());
  Chain("Second", 100).AddTo(b_.graph());
  AddCalls("First", 2);
  AddCalls("Second", 2);
  ASSERT_OK(b_.status());
  for (const CallPolicy policy : {CallPolicy::kByCost, CallPolicy::kInline, CallPolicy::kCall}) {
    int asked = 0;
    const CallChoice choice(b_.graph(), policy, [&asked](const OpSchema&) { return ++asked > 1; });
    EXPECT_EQ(asked, 1) << "there are Negs alone";
    EXPECT_FALSE(choice.MayKeepState("Second"));
  }
}

TEST_F(CallChoiceTest, OnlyEffectsAndBranchesMakeADifferenceToHowABodyRuns) {
  Chain("Plain", 2).AddTo(b_.graph());
  Chain("OverPlain", 1, "Plain").AddTo(b_.graph());
  FunctionText("Prints")
      .Arg("x: float")
      .Result("y: float", "p:output:0")
      .Node("p = Print(x, x)", {{"T", DType::kFloat}, {"U", std::vector<DType>{DType::kFloat}}})
      .AddTo(b_.graph());
  Chain("OverPrints", 1, "Prints").AddTo(b_.graph());
  Forever().AddTo(b_.graph());
  Loop("Loops", "Forever", "Plain").AddTo(b_.graph());
  for (const char* const function : {"OverPlain", "OverPrints", "Loops"}) AddCalls(function, 1);
  ASSERT_OK(b_.status());
  const CallChoice choice(b_.graph(), CallPolicy::kCall, [](const OpSchema&) { return false; });
  for (const char* const function : {"Plain", "OverPlain", "Forever"}) EXPECT_TRUE(choice.RunsTheSame(function));
  for (const char* const function : {"Prints", "OverPrints", "Loops", "Unknown"}) {
    EXPECT_FALSE(choice.RunsTheSame(function)) << function;
  }
}

TEST_F(CallChoiceTest, MarkedFunctionsAreCalled) {
  Chain("Marked", 1).FunctionAttr("_noinline", true).AddTo(b_.graph());
  AddCalls("Marked", 1);
  EXPECT_TRUE(IsCalled("Marked"));
  EXPECT_FALSE(IsCalled("Marked", CallPolicy::kInline));
}

TEST_F(CallChoiceTest, BodiesWithStateAreCalledOnlyIfMarked) {
  for (const bool is_marked : {false, true}) {
    FunctionText text(is_marked ? "Marked" : "Plain");
    text.Arg("x: float").Result("y: float", "p:output:0");
    text.Node("p = Print(x, x)", {{"T", DType::kFloat}, {"U", std::vector<DType>{DType::kFloat}}});
    if (is_marked) text.FunctionAttr("_noinline", true);
    text.AddTo(b_.graph());
    Chain(is_marked ? "OverMarked" : "OverPlain", 1, is_marked ? "Marked" : "Plain").AddTo(b_.graph());
    AddCalls(is_marked ? "OverMarked" : "OverPlain", 2);
  }
  EXPECT_TRUE(IsCalled("Marked", CallPolicy::kCall));
  EXPECT_FALSE(IsCalled("Plain", CallPolicy::kCall));
  EXPECT_FALSE(IsCalled("OverPlain", CallPolicy::kCall)) << "the state is in its body";
}

TEST_F(CallChoiceTest, BodiesThatAreNotPlainAreInlined) {
  FunctionText("Switches")
      .Arg("x: float")
      .Result("y: float", "s:output_false:0")
      .Node("c = Const()", {{"dtype", DType::kBool}, {"value", Tensor::Scalar(true)}})
      .Node("s = Switch(x, c:output:0)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  Chain("OverSwitches", 1, "Switches").AddTo(b_.graph());
  FunctionText("OnADevice")
      .Arg("x: float")
      .Result("y: float", "n:y:0")
      .Node("n = Neg(x) @ /device:CPU:0", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  for (const char* const name : {"Switches", "OverSwitches", "OnADevice"}) {
    AddCalls(name, 1);
    EXPECT_FALSE(IsCalled(name, CallPolicy::kCall)) << name;
  }
}

TEST_F(CallChoiceTest, FunctionsThatCallThemselvesAreNotCalled) {
  Chain("A", 1, "B").AddTo(b_.graph());
  Chain("B", 1, "A").AddTo(b_.graph());
  AddCalls("A", 1);
  EXPECT_FALSE(IsCalled("A", CallPolicy::kCall));
  EXPECT_FALSE(IsCalled("B", CallPolicy::kCall));
}

TEST_F(CallChoiceTest, WhatComesAfterASwitchIsLate) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output ports = b_.Op("Switch", "ports", {x, b_.Const("yes", Tensor::Scalar(true))});
  const Output after = b_.Op("Neg", "after", {ports});
  const Output beside = b_.Op("Neg", "beside", {x});
  const Output waits = b_.Op("Neg", "waits", {x});
  b_.AddControl(waits, after);
  const CallChoice choice(b_.graph(), CallPolicy::kCall, [](const OpSchema&) { return false; });
  const std::vector<bool> is_late = choice.FindLateNodes(b_.graph());
  const auto late = [&](const Output& output) { return is_late[static_cast<size_t>(output.node.value())]; };
  EXPECT_TRUE(late(ports) && late(after) && late(waits));
  EXPECT_FALSE(late(x) || late(beside));
}

TEST_F(CallChoiceTest, WhatComesAfterABodyWithASwitchIsLate) {
  FunctionText("Switches")
      .Arg("x: float")
      .Result("y: float", "s:output_false:0")
      .Node("c = Const()", {{"dtype", DType::kBool}, {"value", Tensor::Scalar(true)}})
      .Node("s = Switch(x, c:output:0)", {{"T", DType::kFloat}})
      .AddTo(b_.graph());
  Chain("OverSwitches", 1, "Switches").AddTo(b_.graph());
  Chain("Plain", 1).AddTo(b_.graph());
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output over = Call(b_, "over", "OverSwitches", {x}, {DType::kFloat});
  const Output after = Call(b_, "after", "Plain", {over}, {DType::kFloat});
  const Output beside = Call(b_, "beside", "Plain", {x}, {DType::kFloat});
  const CallChoice choice(b_.graph(), CallPolicy::kCall, [](const OpSchema&) { return false; });
  EXPECT_TRUE(choice.MakesLate("Switches") && choice.MakesLate("OverSwitches"));
  EXPECT_FALSE(choice.MakesLate("Plain"));
  const std::vector<bool> is_late = choice.FindLateNodes(b_.graph());
  EXPECT_TRUE(is_late[static_cast<size_t>(after.node.value())]);
  EXPECT_FALSE(is_late[static_cast<size_t>(beside.node.value())]);
}

}  // namespace
}  // namespace sluice

// The nodes of inlined bodies that are kept. What TensorFlow runs of them is in tests/goldens/effects.

#include "graph/functions/needed_parts.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/functions/inliner.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

class NeededPartsTest : public testing::Test {
 protected:
  NodeId Id(absl::string_view name) { return b_.graph().Find(name); }
  // Inlines all calls and prunes to `roots`; what is left of Print nodes, which are named after what they are for.
  Names Prints(const Names& roots) {
    EXPECT_OK(b_.status());
    InlinedParts parts;
    for (const std::string& root : roots) parts.roots.push_back(Id(root));
    InlineOptions options;
    options.ignore_marks = true;
    options.parts = &parts;
    EXPECT_OK(InlineFunctionCalls(b_.graph(), options));
    PruneInlined(b_.graph(), parts);
    Names prints;
    for (const NodeId id : b_.graph().Nodes()) {
      if (b_.graph().Is(id, "Print")) prints.emplace_back(b_.graph().name(id));
    }
    return prints;
  }
  // Results: `y`, which needs nothing; `z`, which is what "used" gives. "loose" is read by nothing.
  static FunctionText Effects(bool has_control_result) {
    FunctionText text("F");
    text.Arg("x: float").Result("y: float", "x").Result("z: float", "used:output:0").Stateful();
    for (const char* const node : {"used = Print(x, x)", "loose = Print(x, x)", "named = Print(x, x)"}) {
      text.Node(node, {{"T", DType::kFloat}, {"U", std::vector<DType>{DType::kFloat}}});
    }
    if (has_control_result) text.ControlResult("named", "named");
    return text;
  }
  Output AddCall(absl::string_view op) {
    const std::vector<DType> results = {DType::kFloat, DType::kFloat};
    return op == "F" ? b_.Op("F", "call", {x_}) : Call(b_, "call", "F", {x_}, results, {}, op);
  }

  GraphBuilder b_{NewOpRegistry()};
  const Output x_ = b_.Placeholder("x", DType::kFloat);
};

TEST_F(NeededPartsTest, ACallRunsAllThatItsResultsNeed) {
  Effects(true).AddTo(b_.graph());
  b_.Op("Identity", "y", {AddCall("PartitionedCall")});
  EXPECT_THAT(Prints({"y"}), ElementsAre("call/used", "call/named"));
}

TEST_F(NeededPartsTest, ACallByNameRunsAll) {
  Effects(false).AddTo(b_.graph());
  b_.Op("Identity", "y", {AddCall("F")});
  EXPECT_THAT(Prints({"y"}), ElementsAre("call/used", "call/loose", "call/named"));
}

TEST_F(NeededPartsTest, ACallAsTargetRunsAllThatItsResultsNeed) {
  Effects(false).AddTo(b_.graph());
  AddCall("StatefulPartitionedCall");
  EXPECT_THAT(Prints({"call"}), ElementsAre("call/used"));
}

TEST_F(NeededPartsTest, ACallThatIsWaitedForRunsItsEffects) {
  for (const bool has_control_result : {false, true}) {
    const GraphBuilder before = b_;
    Effects(has_control_result).AddTo(b_.graph());
    b_.AddControl(b_.Op("NoOp", "after"), AddCall("StatefulPartitionedCall"));
    const Names wanted =
        has_control_result ? Names{"call/used", "call/named"} : Names{"call/used", "call/loose", "call/named"};
    EXPECT_EQ(Prints({"after"}), wanted);
    b_ = before;
  }
}

TEST_F(NeededPartsTest, WhatNoRootNeedsGoes) {
  Effects(true).AddTo(b_.graph());
  AddCall("StatefulPartitionedCall");
  b_.Op("Identity", "aside", {x_});
  EXPECT_THAT(Prints({"aside"}), IsEmpty());
  EXPECT_TRUE(Id("x").valid());
  EXPECT_FALSE(Id("Func/call/output/_0").valid());
}

// Each result of a lowered conditional by itself; those of a functional one together.
TEST_F(NeededPartsTest, BranchesRunWhatIsNeededOfThem) {
  for (const bool is_lowered : {true, false}) {
    const GraphBuilder before = b_;
    Effects(true).AddTo(b_.graph());
    const AttrValue branch = AttrValue::Func("F", {});
    const Output call = b_.Op("If", "call", {b_.Const("yes", Tensor::Scalar(true)), x_},
                              {{"Tin", std::vector<DType>{DType::kFloat}},
                               {"Tout", std::vector<DType>{DType::kFloat, DType::kFloat}},
                               {"then_branch", branch},
                               {"else_branch", branch},
                               {"_lower_using_switch_merge", is_lowered}});
    b_.Op("Identity", "y", {call});
    const size_t prints = Prints({"y"}).size();
    EXPECT_EQ(prints, is_lowered ? 0u : 6u) << "three in each branch";
    b_ = before;
  }
}

TEST_F(NeededPartsTest, IdsThatAreNotThereAreIgnored) {
  InlinedParts parts;
  parts.roots = {x_.node, NodeId(1000), NodeId()};
  parts.together = {{x_.node, NodeId(999)}, {}};
  PruneInlined(b_.graph(), parts);
  EXPECT_EQ(b_.graph().num_nodes(), 1u);
}

}  // namespace
}  // namespace sluice

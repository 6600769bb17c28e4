// Pruning, folding, joining, dead branches: the passes that keep what a graph computes.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/builder.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ops/op_table.h"
#include "graph/passes/common_subexpression.h"
#include "graph/passes/constant_folding.h"
#include "graph/passes/node_traits.h"
#include "graph/passes/pass.h"
#include "graph/passes/pass_context.h"
#include "graph/passes/prune.h"
#include "graph/passes/simplify.h"
#include "graph/value/tensor_proto.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class PassesTest : public testing::Test {
 protected:
  PassesTest() : b_(NewOpRegistry()) {}

  Output Value(absl::string_view name, float value = 1) { return b_.Const(name, Tensor::Scalar(value)); }
  // With nodes by name that are kept, if any.
  int64_t Run(const Pass& pass, const std::vector<std::string>& keep = {},
              const ConstantEvaluator* evaluator = nullptr) {
    EXPECT_OK(b_.status());
    PassContext context(Ids(keep));
    context.evaluator = evaluator;
    GraphEditor edit(b_.graph());
    const absl::StatusOr<int64_t> changes = pass.Run(edit, context);
    EXPECT_OK(changes);
    for (NodeId id : b_.graph().Nodes()) {
      for (const Output& input : b_.graph().all_inputs(id)) {
        EXPECT_TRUE(b_.graph().Contains(input.node)) << b_.graph().name(id);
      }
    }
    return changes.value_or(-1);
  }
  std::vector<NodeId> Ids(const std::vector<std::string>& names) {
    std::vector<NodeId> ids;
    for (const std::string& name : names) ids.push_back(b_.graph().Find(name));
    return ids;
  }
  std::string Text(absl::string_view name) { return NodeText(b_.graph(), name); }

  GraphBuilder b_;
};

// --- Pruning --------------------------------------------------------------------------------------------------------

TEST_F(PassesTest, PruningKeepsWhatTheRootsNeed) {
  const Output x = Value("x");
  const Output y = b_.Op("Neg", "y", {x});
  b_.AddControl(y, b_.Op("NoOp", "first"));
  b_.Op("Neg", "z", {y});
  const std::vector<std::string> wanted = {"y:0"};
  ASSERT_OK_AND_ASSIGN(const Graph pruned, PruneToNames(b_.graph(), wanted));
  EXPECT_EQ(NodeNames(pruned), "first x y");
  EXPECT_EQ(NodeText(pruned, "y"), "y(x, ^first)");
  EXPECT_EQ(Run(PrunePass(Ids({"y"}))), 1);
  EXPECT_EQ(NodeNames(b_.graph()), "first x y");
  EXPECT_EQ(Run(PrunePass(Ids({"unknown"}))), 0) << "without roots nothing goes";
}

TEST_F(PassesTest, PruningToUnknownNamesSaysWhatIsNear) {
  Value("weights");
  const std::vector<std::string> wanted = {"weihgts:0"};
  EXPECT_THAT(PruneToNames(b_.graph(), wanted), IsError(ErrorCode::kFetchUnknown, "weihgts"));
}

// --- Traits
// -----------------------------------------------------------------------------------------------------------

TEST_F(PassesTest, OnlyFunctionsOfTheirInputsArePure) {
  const Output x = Value("x");
  EXPECT_TRUE(IsPure(b_.graph(), x.node));
  EXPECT_TRUE(IsPure(b_.graph(), b_.Op("AddV2", "sum", {x, x}).node));
  EXPECT_FALSE(IsPure(b_.graph(), b_.Placeholder("p", DType::kFloat).node));
  const Output shape = b_.Const("shape", Tensor::Of<int32_t>(Shape::Of({1}), {2}));
  EXPECT_FALSE(IsPure(b_.graph(), b_.Op("RandomUniform", "random", {shape}, {{"dtype", DType::kFloat}}).node));
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}});
  EXPECT_FALSE(IsPure(b_.graph(), b_.Op("Assign", "assign", {v, x}).node));
  EXPECT_TRUE(IsPure(b_.graph(), b_.Op("Identity", "read", {x}).node));
  EXPECT_FALSE(IsPure(b_.graph(), b_.Op("Switch", "sw", {x, b_.Const("p1", Tensor::Scalar(true))}).node));
  const std::vector<DType> types = {DType::kFloat};
  const Output call =
      b_.Op("PartitionedCall", "call", {x}, {{"f", AttrValue::Func("F")}, {"Tin", types}, {"Tout", types}});
  EXPECT_FALSE(IsPure(b_.graph(), call.node));
}

// --- Folding
// ----------------------------------------------------------------------------------------------------------

// Knows Neg, AddV2 and Split of scalars; counts what it is asked.
class ToyEvaluator : public ConstantEvaluator {
 public:
  absl::StatusOr<std::vector<Tensor>> Evaluate(const Graph& graph, NodeId id,
                                               absl::Span<const Tensor> inputs) const override {
    ++asked;
    if (graph.Is(id, "Neg")) return std::vector<Tensor>{Tensor::Scalar(-*inputs[0].AsScalar<float>())};
    if (graph.Is(id, "AddV2")) {
      return std::vector<Tensor>{Tensor::Scalar(*inputs[0].AsScalar<float>() + *inputs[1].AsScalar<float>())};
    }
    if (graph.Is(id, "Split")) return std::vector<Tensor>(2, inputs[1]);
    return absl::UnimplementedError("no such toy");
  }
  mutable int asked = 0;
};

class FoldingTest : public PassesTest {
 protected:
  int64_t Fold(ConstantFoldingOptions options = {}) { return Run(ConstantFoldingPass(options), {}, &evaluator_); }
  float ValueOf(absl::string_view name) {
    const absl::StatusOr<AttrView> attr = b_.graph().GetAttr(b_.graph().Find(name), "value");
    return attr.ok() ? *DecodeTensorProto(*attr->AsTensorBytes())->AsScalar<float>() : -99;
  }

  ToyEvaluator evaluator_;
};

TEST_F(FoldingTest, ChainsOfConstantsBecomeOneConstant) {
  const Output sum = b_.Op("AddV2", "sum", {Value("a", 2), Value("b", 3)});
  const Output neg = b_.Op("Neg", "neg", {sum});
  b_.Op("Neg", "rest", {b_.Op("AddV2", "mixed", {neg, b_.Placeholder("p", DType::kFloat)})});
  EXPECT_EQ(Fold(), 2);
  EXPECT_EQ(ValueOf("neg"), -5);
  EXPECT_EQ(Text("mixed"), "mixed(neg, p)");
  EXPECT_TRUE(b_.graph().Is(b_.graph().Find("sum"), "Const"));
  EXPECT_EQ(Fold(), 0) << "nothing is left to fold";
}

TEST_F(FoldingTest, AFoldedNodeWaitsForAllThatItWaitedFor) {
  const Output pivot = b_.Op("NoOp", "pivot"), other = b_.Op("NoOp", "other");
  const Output a = Value("a", 2);
  b_.AddControl(a, pivot);
  const Output sum = b_.Op("AddV2", "sum", {a, a});
  b_.AddControl(sum, other);
  b_.AddControl(b_.Op("NoOp", "after"), sum);
  EXPECT_EQ(Fold(), 1);
  EXPECT_EQ(Text("sum"), "sum(^other, ^pivot)");
  EXPECT_EQ(Text("after"), "after(^sum)");
}

// Each node of a chain waits for a node of its own, and all nodes of a fan for one constant that waits for many.
TEST_F(FoldingTest, ControlInputsGrowWithTheGraph) {
  constexpr int kNodes = 500;
  const auto name = [](const char* prefix, int i) { return absl::StrCat(prefix, i); };
  Output chain = Value("start"), hub = Value("hub");
  for (int i = 0; i < kNodes; ++i) {
    const Output gate = b_.Op("NoOp", name("gate", i));
    chain = b_.Op("Neg", name("chain", i), {chain});
    b_.AddControl(chain, gate);
    b_.AddControl(hub, gate);
  }
  for (int i = 0; i < kNodes; ++i) b_.Op("Neg", name("fan", i), {hub});
  EXPECT_EQ(Fold(), 2 * kNodes);
  size_t num_controls = 0;
  for (const NodeId id : b_.graph().Nodes()) num_controls += b_.graph().controls(id).size();
  EXPECT_LE(num_controls, 8u * kNodes) << "copied lists: " << kNodes * kNodes;
  // The last of the chain still waits, through others, for the first gate.
  absl::flat_hash_set<NodeId> seen;
  std::vector<NodeId> open = {b_.graph().Find(name("chain", kNodes - 1))};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    for (const Output& control : b_.graph().controls(id)) open.push_back(control.node);
  }
  for (int i = 0; i < kNodes; ++i) EXPECT_TRUE(seen.contains(b_.graph().Find(name("gate", i)))) << i;
}

TEST_F(FoldingTest, OutputsShareALongListOfControlInputs) {
  const Output split = b_.Op("Split", "split", {b_.Const("axis", Tensor::Scalar(int32_t{0})), Value("a", 4)},
                             {{"num_split", int64_t{2}}});
  for (int i = 0; i < 5; ++i) b_.AddControl(split, b_.Op("NoOp", absl::StrCat("gate", i)));
  b_.Op("AddV2", "use", {split, GraphBuilder::Nth(split, 1)});
  EXPECT_EQ(Fold(), 2);  // With "use".
  EXPECT_EQ(Text("split/folded_0"), "split/folded_0(^gate0, ^gate1, ^gate2, ^gate3, ^gate4)");
  EXPECT_EQ(Text("split/folded_1"), "split/folded_1(^split/folded_0)");
}

TEST_F(FoldingTest, OutputsAreFoldedOneByOne) {
  const Output split = b_.Op("Split", "split", {b_.Const("axis", Tensor::Scalar(int32_t{0})), Value("a", 4)},
                             {{"num_split", int64_t{2}}});
  b_.Op("AddV2", "use",
        {split, b_.Op("AddV2", "p2", {GraphBuilder::Nth(split, 1), b_.Placeholder("p", DType::kFloat)})});
  EXPECT_EQ(Fold(), 1);
  EXPECT_EQ(Text("use"), "use(split/folded_0, p2)");
  EXPECT_EQ(Text("p2"), "p2(split/folded_1, p)");
}

TEST_F(FoldingTest, WhatCannotBeEvaluatedStays) {
  b_.Op("Exp", "exp", {Value("a")});
  EXPECT_EQ(Fold(), 0);
  EXPECT_EQ(evaluator_.asked, 1);
  EXPECT_EQ(Text("exp"), "exp(a)");
}

TEST_F(FoldingTest, LargeResultsStayComputed) {
  b_.Op("Neg", "neg", {Value("a")});
  EXPECT_EQ(Fold({/*max_output_bytes=*/3, 100, 100, absl::Seconds(10)}), 0);
  EXPECT_EQ(Text("neg"), "neg(a)");
}

TEST_F(FoldingTest, BoundsHoldForInputsAndForAllResultsTogether) {
  b_.Op("Neg", "n1", {Value("a")});
  b_.Op("Neg", "n2", {Value("b")});
  EXPECT_EQ(Fold({100, /*max_input_bytes=*/3, 100, absl::Seconds(10)}), 0);
  EXPECT_EQ(evaluator_.asked, 0);
  EXPECT_EQ(Fold({100, 100, /*max_total_bytes=*/7, absl::Seconds(10)}), 1);
  EXPECT_EQ(Fold({100, 100, 100, /*max_time=*/absl::ZeroDuration()}), 1);
}

TEST_F(FoldingTest, KeptNodesAreNotReplaced) {
  b_.Op("Neg", "after", {b_.Op("Neg", "kept", {Value("a", 2)})});
  EXPECT_EQ(Run(ConstantFoldingPass(), {"kept"}, &evaluator_), 0);
  EXPECT_EQ(Run(ConstantFoldingPass()), 0) << "nothing computes";
}

TEST_F(FoldingTest, ConstantsAreSeenThroughNodesThatHandThemOn) {
  const Output a = Value("a", 2), read = b_.Op("Identity", "read", {b_.Op("Identity", "inner", {a})});
  b_.Op("Neg", "neg", {read});
  EXPECT_EQ(Fold(), 1);
  EXPECT_EQ(ValueOf("neg"), -2);
  EXPECT_EQ(Text("neg"), "neg()");
  EXPECT_EQ(Text("read"), "read(inner)") << "no copy of the value";
}

TEST_F(FoldingTest, WhatWaitsOnTheWayIsWaitedFor) {
  const Output read = b_.Op("Identity", "read", {Value("a", 2)});
  b_.AddControl(read, b_.Op("NoOp", "gate"));
  b_.Op("Neg", "neg", {read});
  EXPECT_EQ(Fold(), 1);
  EXPECT_EQ(Text("neg"), "neg(^read)");
}

TEST_F(FoldingTest, StatefulNodesAndPlaceholdersAreNotAsked) {
  b_.Op("Identity", "id", {b_.Placeholder("p", DType::kFloat)});
  b_.Op("RandomUniform", "random", {b_.Const("shape", Tensor::Of<int32_t>(Shape::Of({1}), {2}))},
        {{"dtype", DType::kFloat}});
  b_.Op("_Retval", "ret", {Value("a")}, {{"index", int64_t{0}}});
  EXPECT_EQ(Fold(), 0);
  EXPECT_EQ(evaluator_.asked, 0);
}

// --- Joining
// ----------------------------------------------------------------------------------------------------------

TEST_F(PassesTest, EqualNodesBecomeOne) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output a = b_.Op("Neg", "a", {x}), b = b_.Op("Neg", "b", {x});
  b_.Op("Mul", "y", {b_.Op("Exp", "ea", {a}), b_.Op("Exp", "eb", {b})});
  EXPECT_EQ(Run(CommonSubexpressionPass()), 2);
  EXPECT_EQ(NodeNames(b_.graph()), "a ea x y");
  EXPECT_EQ(Text("y"), "y(ea, ea)");
}

TEST_F(PassesTest, EqualConstantsBecomeOne) {
  b_.Op("AddV2", "y", {Value("a", 2), Value("b", 2)});
  b_.Op("AddV2", "z", {Value("c", 3), Output{b_.graph().Find("b"), 0}});
  EXPECT_EQ(Run(CommonSubexpressionPass()), 1);
  EXPECT_EQ(Text("z"), "z(c, a)");
}

TEST_F(PassesTest, InputsOfCommutativeOpsComeInAnyOrder) {
  const Output x = b_.Placeholder("x", DType::kInt32), y = b_.Placeholder("y", DType::kInt32);
  b_.Op("AddV2", "a", {x, y});
  b_.Op("AddV2", "b", {y, x});
  b_.Op("Sub", "c", {x, y});
  b_.Op("Sub", "d", {y, x});
  EXPECT_EQ(Run(CommonSubexpressionPass()), 1);
  EXPECT_EQ(NodeNames(b_.graph()), "a c d x y");
}

// Which of two NaNs a sum of floats gives depends on their order.
TEST_F(PassesTest, OrdersOfFloatsStayApartUnlessTheyAreCompared) {
  const Output x = b_.Placeholder("x", DType::kFloat), y = b_.Placeholder("y", DType::kFloat);
  b_.Op("AddV2", "a", {x, y});
  b_.Op("AddV2", "b", {y, x});
  b_.Op("Equal", "c", {x, y});
  b_.Op("Equal", "d", {y, x});
  EXPECT_EQ(Run(CommonSubexpressionPass()), 1);
  EXPECT_EQ(NodeNames(b_.graph()), "a b c x y");
}

TEST_F(PassesTest, NodesThatDifferInAnythingStayApart) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.Op("Neg", "a", {x});
  b_.SetDevice(b_.Op("Neg", "device", {x}), "/gpu:0");
  b_.AddControl(b_.Op("Neg", "control", {x}), b_.Op("NoOp", "first"));
  b_.Op("Cast", "c1", {x}, {{"DstT", DType::kInt32}});
  b_.Op("Cast", "c2", {x}, {{"DstT", DType::kInt64}});
  const Output shape = b_.Const("shape", Tensor::Of<int32_t>(Shape::Of({1}), {2}));
  b_.Op("RandomUniform", "r1", {shape}, {{"dtype", DType::kFloat}});
  b_.Op("RandomUniform", "r2", {shape}, {{"dtype", DType::kFloat}});
  EXPECT_EQ(Run(CommonSubexpressionPass()), 0);
}

TEST_F(PassesTest, KeptNodesStayButAreNotUsedTwice) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.Op("Neg", "a", {x});
  b_.Op("Exp", "y", {b_.Op("Neg", "b", {x})});
  EXPECT_EQ(Run(CommonSubexpressionPass(), {"b"}), 0);
  EXPECT_EQ(NodeNames(b_.graph()), "a b x y");
  EXPECT_EQ(Text("y"), "y(a)");
}

TEST_F(PassesTest, AttrsMayStandInAnyOrderAndLargeOnesAreNotRead) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.Op("MatMul", "a", {x, x}, {{"transpose_a", true}, {"transpose_b", false}});
  b_.Op("MatMul", "b", {x, x}, {{"transpose_b", false}, {"transpose_a", true}});
  b_.Op("MatMul", "c", {x, x}, {{"transpose_b", true}, {"transpose_a", false}});
  const Tensor large = Tensor::Vector<int32_t>([] {
    std::vector<int32_t> values(5000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
    return values;
  }());
  b_.Const("large", large);
  b_.Const("also", large);
  EXPECT_EQ(Run(CommonSubexpressionPass()), 1);
  EXPECT_EQ(NodeNames(b_.graph()), "a also c large x");
}

TEST_F(FoldingTest, WhatTheContextLeavesAloneStays) {
  const Output x = b_.Placeholder("x", DType::kFloat), c = Value("c", 1);
  b_.Op("AddN", "y", {b_.Op("Neg", "a", {x}), b_.Op("Neg", "b", {x}), b_.Op("Neg", "n", {c}), b_.Op("Exp", "e", {x})},
        {{"N", 4}});
  PassContext context;
  context.evaluator = &evaluator_;
  context.leaves_alone = [](const Graph& graph, NodeId id) { return graph.Is(id, "Neg"); };
  ASSERT_OK_AND_ASSIGN(const SimplifyReport report, SimplifyGraph(b_.graph(), context, SimplifyOptions()));
  EXPECT_EQ(report.dropped + report.folded + report.joined + report.removed, 0);
}

TEST_F(PassesTest, NodesInNoOrderJoinAsWell) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output late = b_.Op("Neg", "late", {x});
  const Output a = b_.Op("Exp", "a", {late}), b = b_.Op("Exp", "b", {x});
  b_.SetInput(b, 0, b_.Op("Neg", "later", {x}));
  b_.Op("Mul", "y", {a, b});
  EXPECT_EQ(Run(CommonSubexpressionPass()), 2);
  EXPECT_EQ(Text("y"), "y(a, a)");
}

// --- Simplifying
// ----------------------------------------------------------------------------------------------------------

TEST_F(FoldingTest, SimplifyingLeavesNothingUnusedAndWhatIsKept) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output folded = b_.Op("Neg", "folded", {b_.Op("AddV2", "gone", {Value("c", 3), Value("e", 4)})});
  const Output a = b_.Op("Mul", "a", {x, folded}), twin = b_.Op("Mul", "twin", {x, folded});
  b_.Op("AddV2", "y", {a, twin});
  b_.Op("Neg", "target", {Value("d", 5)});
  b_.Op("NoOp", "effect");
  PassContext context(Ids({"target"}));
  context.evaluator = &evaluator_;
  SimplifyOptions options;
  options.max_nodes = 3;
  ASSERT_OK_AND_ASSIGN(SimplifyReport report, SimplifyGraph(b_.graph(), context, options));
  EXPECT_EQ(report.dropped + report.folded + report.joined + report.removed, 0);
  options.max_nodes = 100;
  ASSERT_OK_AND_ASSIGN(report, SimplifyGraph(b_.graph(), context, options));
  EXPECT_EQ(report.folded, 2);
  EXPECT_EQ(NodeNames(b_.graph()), "a d effect folded target x y");
  EXPECT_EQ(Text("y"), "y(a, a)");
  EXPECT_EQ(Text("target"), "target(d)");
}

// A loop that nothing leaves, as a function's body may have it for its effects.
TEST_F(FoldingTest, SimplifyingLeavesLoopsThatNothingWaitsFor) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  b_.Op("AddV2", "y", {b_.Op("Neg", "a", {x}), b_.Op("Neg", "b", {x})});
  const Output enter = b_.Op("Enter", "enter", {x}, {{"frame_name", "f"}});
  const Output merge = b_.Op("Merge", "merge", {enter, Output()}, {{"T", DType::kFloat}, {"N", 2}});
  const Output ports =
      b_.Op("Switch", "switch", {merge, b_.Op("LoopCond", "cond", {b_.Op("Less", "less", {merge, merge})})});
  b_.SetInput(merge, 1, b_.Op("NextIteration", "next", {GraphBuilder::Nth(ports, 1)}));
  ASSERT_OK_AND_ASSIGN(const SimplifyReport report, SimplifyGraph(b_.graph(), PassContext(), SimplifyOptions()));
  EXPECT_EQ(report.joined, 1);
  EXPECT_EQ(NodeNames(b_.graph()), "a cond enter less merge next switch x y");
}

TEST_F(FoldingTest, EachSwitchIsItsOwn) {
  const Output x = b_.Placeholder("x", DType::kFloat), n = b_.Op("Neg", "n", {Value("c", 1)});
  b_.Op("AddV2", "y", {b_.Op("Mul", "a", {x, n}), b_.Op("Mul", "b", {x, n})});
  PassContext context;
  context.evaluator = &evaluator_;
  SimplifyOptions options;
  options.fold_constants = options.join_equal_nodes = false;
  ASSERT_OK_AND_ASSIGN(SimplifyReport report, SimplifyGraph(b_.graph(), context, options));
  EXPECT_EQ(report.dropped + report.folded + report.joined + report.removed, 0);
  options.join_equal_nodes = true;
  ASSERT_OK_AND_ASSIGN(report, SimplifyGraph(b_.graph(), context, options));
  EXPECT_EQ(report.folded, 0);
  EXPECT_EQ(report.joined, 1);
  options = SimplifyOptions();
  options.join_equal_nodes = false;
  ASSERT_OK_AND_ASSIGN(report, SimplifyGraph(b_.graph(), context, options));
  EXPECT_EQ(report.folded, 1);
  EXPECT_EQ(report.joined, 0);
  EXPECT_EQ(report.removed, 1) << "c";
}

// --- Running several
// --------------------------------------------------------------------------------------------------

TEST_F(FoldingTest, PassesRunUntilNothingChanges) {
  const Output x = b_.Placeholder("x", DType::kFloat);
  const Output one = b_.Op("Neg", "one", {b_.Op("Neg", "n1", {Value("c", 1)})}), also = Value("also", 1);
  b_.Op("Mul", "y", {b_.Op("AddV2", "s1", {x, one}), b_.Op("AddV2", "s2", {x, also})});
  std::vector<std::unique_ptr<const Pass>> passes;
  passes.push_back(std::make_unique<ConstantFoldingPass>());
  passes.push_back(std::make_unique<CommonSubexpressionPass>());
  passes.push_back(std::make_unique<PrunePass>(Ids({"y"})));
  std::vector<PassReport> reports;
  PassContext context;
  context.evaluator = &evaluator_;
  ASSERT_OK(RunPasses(passes, 10, context, b_.graph(), &reports));
  EXPECT_EQ(b_.graph().num_nodes(), 4u) << NodeNames(b_.graph());
  EXPECT_EQ(reports.size(), 6u) << "one round that changes something, one that does not";
  EXPECT_EQ(reports[0].name, "constant_folding");
  EXPECT_EQ(reports[0].changes, 2);
  EXPECT_EQ(reports.back().changes, 0);
}

}  // namespace
}  // namespace sluice

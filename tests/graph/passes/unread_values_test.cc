#include "graph/passes/unread_values.h"

#include <string>
#include <utility>
#include <vector>

#include "graph/edit/graph_editor.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/passes/pass_context.h"
#include "graph/passes/simplify.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class UnreadValuesTest : public testing::Test {
 protected:
  UnreadValuesTest() : b_(NewOpRegistry()), x_(b_.Placeholder("x", DType::kFloat, PartialShape::Of({2, 3}))) {}

  int64_t Run(PassContext context = PassContext()) {
    EXPECT_OK(b_.status());
    GraphEditor edit(b_.graph());
    const absl::StatusOr<int64_t> changes = UnreadValuesPass().Run(edit, context);
    EXPECT_OK(changes);
    EXPECT_OK(edit.Validate());
    return changes.value_or(-1);
  }
  // `y`, the value of `x`, waits for `node`.
  Output Waiting(Output node, absl::string_view name = "y") {
    const Output y = b_.Op("Identity", name, {x_});
    b_.AddControl(y, node);
    return y;
  }
  std::string Text(absl::string_view name) { return NodeText(b_.graph(), name); }
  std::string Names() { return NodeNames(b_.graph()); }

  GraphBuilder b_;
  const Output x_;
};

TEST_F(UnreadValuesTest, WhoWaitsForOneWaitsForItsInputs) {
  const Output a = b_.Placeholder("a", DType::kFloat, PartialShape::Of({2, 3})),
               c = b_.Placeholder("c", DType::kFloat, PartialShape::Of({3}));
  Waiting(b_.Op("Mul", "unread", {a, c}));
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Names(), "a c unread/unread x y");
  EXPECT_EQ(Text("y"), "y(x, ^unread/unread)");
  EXPECT_EQ(Text("unread/unread"), "unread/unread(^a, ^c)");
}

TEST_F(UnreadValuesTest, OfOneInputNoNodeIsLeft) {
  const Output a = b_.Placeholder("a", DType::kFloat, PartialShape::Of({2, 3}));
  Waiting(b_.Op("Mul", "unread", {a, a}));
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Text("y"), "y(x, ^a)");
}

// What only an unread node has read is unread, too, and its own controls are waited for.
TEST_F(UnreadValuesTest, WholeConesGo) {
  const Output a = b_.Placeholder("a", DType::kFloat, PartialShape::Of({2, 3})), effect = b_.Op("NoOp", "effect");
  const Output first = b_.Op("Neg", "first", {a});
  b_.AddControl(first, effect);
  const Output second = b_.Op("Exp", "second", {first});
  Waiting(second, "y");
  Waiting(second, "z");
  EXPECT_EQ(Run(), 2);
  EXPECT_EQ(Names(), "a effect first/unread x y z");
  EXPECT_EQ(Text("y"), "y(x, ^first/unread)");
  EXPECT_EQ(Text("z"), "z(x, ^first/unread)");
  EXPECT_EQ(Text("first/unread"), "first/unread(^a, ^effect)");
}

TEST_F(UnreadValuesTest, WhatIsReadAnywhereStays) {
  const Output read = b_.Op("Neg", "read", {x_});
  Waiting(read);
  b_.Op("Exp", "reader", {read});
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(Text("y"), "y(x, ^read)");
}

TEST_F(UnreadValuesTest, EffectsStay) {
  Waiting(
      b_.Op("RandomUniform", "random", {b_.Const("shape", Tensor::Vector<int32_t>({2}))}, {{"dtype", DType::kFloat}}));
  Waiting(b_.Op("CheckNumerics", "check", {x_}, {{"message", "bad"}}), "z");
  EXPECT_EQ(Run(), 0);
}

TEST_F(UnreadValuesTest, KeptNodesAndThoseOfHostsStay) {
  Waiting(b_.Op("Neg", "kept", {x_}));
  EXPECT_EQ(Run(PassContext({b_.graph().Find("kept")})), 0);
  PassContext context;
  context.leaves_alone = [](const Graph& graph, NodeId id) { return graph.Is(id, "Neg"); };
  EXPECT_EQ(Run(std::move(context)), 0);
  EXPECT_EQ(Run(), 1);
}

// A control edge from a Switch is live on both sides: what is read of its dead port must stay dead.
TEST_F(UnreadValuesTest, DeadInputsStayDead) {
  const Output ports = b_.Op("Switch", "switch", {x_, b_.Placeholder("p", DType::kBool)});
  Waiting(b_.Op("Neg", "in_branch", {ports}));
  EXPECT_EQ(Run(), 0);
  // One step further the node itself is dead, and its control edge with it.
  const Output far = b_.Op("Exp", "far", {b_.Op("Abs", "read", {ports})});
  Waiting(far, "z");
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Text("z"), "z(x, ^read)");
}

// Nodes that wait for a failing node do not run, so a node that can fail stays.
TEST_F(UnreadValuesTest, WhatMayFailStays) {
  const Output any = b_.Placeholder("any", DType::kFloat),
               four = b_.Placeholder("four", DType::kFloat, PartialShape::Of({4}));
  Waiting(b_.Op("Mul", "of_any", {x_, any}), "y");
  Waiting(b_.Op("Mul", "that_disagree", {x_, four}), "z");
  Waiting(b_.Op("Reshape", "to_any", {x_, b_.Placeholder("shape", DType::kInt32, PartialShape::Of({2}))}), "u");
  Waiting(b_.Op("GatherV2", "gather",
                {x_, b_.Const("indices", Tensor::Vector<int32_t>({7})), b_.Const("axis", Tensor::Scalar<int32_t>(0))}),
          "v");
  EXPECT_EQ(Run(), 0);
}

// A variable gives its reference before it has a value; reading it then fails.
TEST_F(UnreadValuesTest, ReadersOfReferencesStay) {
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2, 3})}});
  Waiting(b_.Op("Neg", "reads", {v}), "y");
  Waiting(b_.Op("Mul", "reads_too", {x_, v}), "z");
  Waiting(b_.Op("Identity", "insists", {v}), "u");
  EXPECT_EQ(Run(), 0);
}

// A product needs equal inner sizes: that one size decides, and it may be an unknown batch.
TEST_F(UnreadValuesTest, ProductsNeedAgreeInOneSizeAlone) {
  const Output batch = b_.Placeholder("batch", DType::kFloat, PartialShape::Of({-1, 3}));
  const Output dy = b_.Op("MatMul", "dy", {batch, x_}, {{"transpose_b", true}});
  b_.Op("Identity", "read", {dy});
  Waiting(b_.Op("MatMul", "of_batch", {dy, x_}), "y");
  Waiting(b_.Op("MatMul", "of_x", {dy, batch}, {{"transpose_a", true}}), "z");
  Waiting(b_.Op("MatMul", "of_nobody_knows", {b_.Placeholder("other", DType::kFloat, PartialShape::Of({-1, -1})), x_}),
          "u");
  EXPECT_EQ(Run(), 2);
  EXPECT_EQ(Text("u"), "u(x, ^of_nobody_knows)");
}

TEST_F(UnreadValuesTest, SessionsSimplifyThemAway) {
  const Output a = b_.Placeholder("a", DType::kFloat, PartialShape::Of({2, 3}));
  Waiting(b_.Op("Mul", "unread", {a, x_}));
  SimplifyOptions options;
  options.drop_unread_values = false;
  ASSERT_OK_AND_ASSIGN(SimplifyReport report, SimplifyGraph(b_.graph(), PassContext(), options));
  EXPECT_EQ(report.dropped, 0);
  ASSERT_OK_AND_ASSIGN(report, SimplifyGraph(b_.graph(), PassContext(), SimplifyOptions()));
  EXPECT_EQ(report.dropped, 1);
  EXPECT_EQ(Text("y"), "y(x, ^unread/unread)");
}

}  // namespace
}  // namespace sluice

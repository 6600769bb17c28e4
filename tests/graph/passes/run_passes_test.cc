// Several passes over one editor: what they share, and how builds with assertions check them.

#include <memory>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/passes/common_subexpression.h"
#include "graph/passes/pass.h"
#include "graph/passes/pass_context.h"
#include "graph/shapes/shape_map.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class RunPassesTest : public testing::Test {
 protected:
  GraphBuilder b_{NewOpRegistry()};
};

// Leaves a graph in which a node waits for itself.
class BreakingPass : public Pass {
 public:
  absl::string_view name() const override { return "breaking"; }
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext&) const override {
    const NodeId y = edit.graph().Find("y");
    EXPECT_OK(edit.SetInput(y, 0, edit.Add("Neg", "after", {Output{y, 0}})));
    return 1;
  }
};

#ifndef NDEBUG
TEST_F(RunPassesTest, APassThatLeavesAnUnsoundGraphIsNamed) {
  b_.Op("Neg", "y", {b_.Placeholder("x", DType::kFloat)});
  ASSERT_OK(b_.status());
  std::vector<std::unique_ptr<const Pass>> passes;
  passes.push_back(std::make_unique<BreakingPass>());
  EXPECT_THAT(RunPasses(passes, 1, PassContext(), b_.graph(), nullptr), IsError(ErrorCode::kInternal, "'breaking'"));
}
#endif

// Drops Identity nodes whose shape is known, and counts what used them.
class ShapeAwarePass : public Pass {
 public:
  absl::string_view name() const override { return "shape_aware"; }
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override {
    int64_t changes = 0;
    for (const NodeId id : edit.graph().Nodes()) {
      if (!edit.graph().Is(id, "Identity") || context.IsKept(id)) continue;
      SLUICE_ASSIGN_OR_RETURN(const ShapeMap* const shapes, edit.Shapes());
      const Output source = edit.graph().inputs(id)[0];
      if (!shapes->HaveSameShape(source, Output{id, 0})) continue;
      num_uses += static_cast<int>(edit.UsesOf(id).size());
      SLUICE_RETURN_IF_ERROR(edit.ReplaceUses(Output{id, 0}, source));
      SLUICE_RETURN_IF_ERROR(edit.Remove(id));
      ++changes;
    }
    return changes;
  }
  mutable int num_uses = 0;
};

TEST_F(RunPassesTest, PassesShareUsesAndShapes) {
  const Output fed = b_.Placeholder("fed", DType::kFloat), x = b_.Placeholder("x", DType::kFloat);
  b_.Op("AddN", "y",
        {b_.Op("Identity", "a", {fed}), b_.Op("Identity", "b", {x}), b_.Op("Identity", "kept", {fed}), fed},
        {{"N", 4}});
  ASSERT_OK(b_.status());
  std::vector<std::unique_ptr<const Pass>> passes;
  auto pass = std::make_unique<ShapeAwarePass>();
  const ShapeAwarePass& aware = *pass;
  passes.push_back(std::move(pass));
  passes.push_back(std::make_unique<CommonSubexpressionPass>());
  PassContext context({b_.graph().Find("kept")});
  context.inference.fed = {{fed, PartialShape::Of({-1, 3})}};
  GraphEditor edit(b_.graph());
  edit.SetInference(context.inference);
  std::vector<PassReport> reports;
  ASSERT_OK(RunPasses(passes, 3, context, edit, &reports));
  EXPECT_EQ(NodeText(b_.graph(), "y"), "y(fed, b, kept, fed)") << "the shape of x is not known";
  EXPECT_EQ(aware.num_uses, 1);
  EXPECT_EQ(reports[0].changes, 1);
  EXPECT_EQ(reports.back().changes, 0);
  EXPECT_EQ(edit.num_inferred(), 7) << "all six once, and what used the node that went";
  EXPECT_OK(edit.Validate());
}

TEST_F(RunPassesTest, WhatStaysUsedIsNotRemovedWithTheRest) {
  const Output x = b_.Const("x", Tensor::Scalar(1.0f)), a = b_.Op("Neg", "a", {x}), c = b_.Op("Neg", "c", {a});
  b_.Op("Neg", "user", {a});
  ASSERT_OK(b_.status());
  for (const bool with_uses : {false, true}) {
    GraphEditor edit(b_.graph());
    EXPECT_TRUE(!with_uses || edit.IsUsed(x.node));
    EXPECT_THAT(edit.RemoveAll({a.node, c.node}), IsError(ErrorCode::kWrongUse, "'user'"));
    EXPECT_EQ(NodeNames(b_.graph()), "a c user x");
    EXPECT_OK(edit.Validate());
  }
  GraphEditor edit(b_.graph());
  ASSERT_OK(edit.RemoveAll({a.node, c.node, b_.graph().Find("user"), NodeId(1000), a.node}));
  EXPECT_EQ(NodeNames(b_.graph()), "x");
  EXPECT_FALSE(edit.IsUsed(x.node));
  EXPECT_OK(edit.Validate());
}

}  // namespace
}  // namespace sluice

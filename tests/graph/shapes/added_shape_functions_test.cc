#include "graph/shapes/added_shape_functions.h"

#include "graph/ir/builder.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/inference.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

absl::Status PassFirst(InferenceContext& c) {
  c.Pass(0, 0);
  return absl::OkStatus();
}

std::shared_ptr<OpRegistry> OpsWithTwice() {
  auto ops = NewOpRegistry();
  EXPECT_OK(ops->Add(*OpSchemaBuilder("Twice").Input("x: float").Output("y: float").Build()));
  return ops;
}

PartialShape ShapeOfTwice(const std::shared_ptr<OpRegistry>& ops) {
  GraphBuilder b(ops);
  const Output y = b.Op("Twice", "y", {b.Placeholder("x", DType::kFloat, PartialShape::Of({2, 3}))});
  const absl::StatusOr<Graph> graph = b.Build();
  EXPECT_OK(graph);
  const absl::StatusOr<ShapeMap> shapes = InferShapes(*graph);
  EXPECT_OK(shapes);
  return shapes->shape(y);
}

TEST(AddedShapeFunctionsTest, ItIsForTheOpOfItsRegistryAlone) {
  const auto ops = OpsWithTwice(), others = OpsWithTwice();
  EXPECT_EQ(ShapeOfTwice(ops), PartialShape());
  ASSERT_OK(AddShapeFunction(ops, "Twice", &PassFirst));
  EXPECT_EQ(ShapeOfTwice(ops), PartialShape::Of({2, 3}));
  EXPECT_EQ(ShapeOfTwice(others), PartialShape());
  EXPECT_NE(FindAddedShapeFunction(ops.get(), "Twice"), nullptr);
  EXPECT_TRUE(HasShapeFunction(ops.get(), "Twice"));
  EXPECT_FALSE(HasShapeFunction(others.get(), "Twice"));
  EXPECT_TRUE(HasShapeFunction(others.get(), "MatMul"));
  EXPECT_EQ(FindAddedShapeFunction(others.get(), "Twice"), nullptr);
}

TEST(AddedShapeFunctionsTest, OpsThatDoNotExistOrHaveOneAreRefused) {
  const auto ops = OpsWithTwice();
  EXPECT_THAT(AddShapeFunction(ops, "Thrice", &PassFirst), IsError(ErrorCode::kOpSchema, "'Thrice'"));
  EXPECT_THAT(AddShapeFunction(ops, "MatMul", &PassFirst), IsError(ErrorCode::kOpSchema, "has one already"));
  ASSERT_OK(AddShapeFunction(ops, "Twice", &PassFirst));
  EXPECT_THAT(AddShapeFunction(ops, "Twice", &PassFirst), IsError(ErrorCode::kOpSchema, "has one already"));
}

TEST(AddedShapeFunctionsTest, AFunctionGoesAfterItsRegistryAndALaterOneAtItsAddressHasNone) {
  auto counted = std::make_shared<int>(0);
  for (int i = 0; i < 100; ++i) {
    const auto ops = OpsWithTwice();
    EXPECT_EQ(FindAddedShapeFunction(ops.get(), "Twice"), nullptr);
    ASSERT_OK(AddShapeFunction(ops, "Twice", [counted](InferenceContext& c) { return PassFirst(c); }));
  }
  EXPECT_LE(counted.use_count(), 3);  // This one's, the last one's, and none of those before.
}

TEST(AddedShapeFunctionsTest, AnErrorIsAProblemOfTheNode) {
  const auto ops = OpsWithTwice();
  ASSERT_OK(AddShapeFunction(ops, "Twice", [](InferenceContext& c) { return c.RankError(0, "rank 7"); }));
  GraphBuilder b(ops);
  b.Op("Twice", "y", {b.Placeholder("x", DType::kFloat, PartialShape::Of({2, 3}))});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  ASSERT_OK_AND_ASSIGN(const ShapeMap shapes, InferShapes(graph));
  ASSERT_EQ(shapes.problems().size(), 1u);
  EXPECT_THAT(shapes.problems()[0].status, IsError(ErrorCode::kShapeRank, "Twice 'y'"));
}

}  // namespace
}  // namespace sluice

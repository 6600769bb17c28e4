#include "graph/ir/attr_minimums.h"

#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(AttrMinimumsTest, ArityBelowTheMinimumLoadsAndIsRefusedForARun) {
  GraphBuilder b(NewOpRegistry());
  b.Op("Pack", "none", {}, {{"N", 0}, {"T", DType::kFloat}});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  const absl::Status status = CheckAttrMinimums(graph);
  EXPECT_THAT(status, IsError(ErrorCode::kAttrValue, "'none'"));
  EXPECT_EQ(ErrorInfoOf(status)->attr, "N");
}

TEST(AttrMinimumsTest, EmptyTypeListsAreFound) {
  GraphBuilder b(NewOpRegistry());
  b.Op("IdentityN", "none", {}, {{"T", AttrValue::EmptyList()}});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  EXPECT_THAT(CheckAttrMinimums(graph), IsError(ErrorCode::kAttrValue, "too few types"));
}

TEST(AttrMinimumsTest, SoundGraphsPass) {
  GraphBuilder b(NewOpRegistry());
  b.Op("AddN", "sum", {b.Placeholder("x", DType::kFloat)});
  ASSERT_OK_AND_ASSIGN(const Graph graph, b.Build());
  EXPECT_OK(CheckAttrMinimums(graph));
}

TEST(AttrMinimumsTest, OtherMinimaAreRefusedAtOnce) {
  GraphBuilder stage(NewOpRegistry());
  stage.Op("Stage", "s", {stage.Placeholder("x", DType::kFloat)}, {{"capacity", -1}});
  EXPECT_THAT(stage.Build(), IsError(ErrorCode::kAttrValue, "'s'"));
}

}  // namespace
}  // namespace sluice

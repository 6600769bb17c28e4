#include "executor/dataflow/node_cost.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr uint32_t kSmall = 256, kLarge = 64 << 20;

TEST(NodeCostTest, IsUnknownAtFirst) {
  const NodeCost none{};
  EXPECT_FALSE(none.is_known());
  EXPECT_TRUE(none.With(0, 0).is_known()) << "a call takes a nanosecond at least";
  EXPECT_EQ(none.With(1'500, kSmall).ns, 1'500u);
}

TEST(NodeCostTest, SimilarCallsGiveTheMeanOfTheLastOnes) {
  NodeCost cost = NodeCost{}.With(1'000, kLarge);
  EXPECT_EQ(cost.Expected(kLarge), 1'000u);
  cost = cost.With(9'000, kLarge);
  EXPECT_EQ(cost.ns, 2'000u);
  for (int i = 0; i < 100; ++i) cost = cost.With(9'000, kLarge);
  EXPECT_NEAR(cost.ns, 9'000, 100);
}

// A MatMul that has seen a row and gets a matrix must not be run under the baton.
TEST(NodeCostTest, LargerInputsAreExpectedToTakeInProportion) {
  const NodeCost cost = NodeCost{}.With(1'000, 4096);
  EXPECT_FALSE(cost.IsOutgrownBy(8192));
  EXPECT_TRUE(cost.IsOutgrownBy(kLarge));
  EXPECT_EQ(cost.Expected(4096 * 100), 100'000u);
  EXPECT_EQ(NodeCost{}.With(1'000'000, 4096).Expected(UINT32_MAX), NodeCost::kMaxNs);
}

TEST(NodeCostTest, SmallInputsNeverOutgrowEachOther) {
  const NodeCost cost = NodeCost{}.With(500, 4);
  EXPECT_FALSE(cost.IsOutgrownBy(2000));
  EXPECT_EQ(cost.Expected(2000), 500u);
  EXPECT_TRUE(cost.IsOutgrownBy(4096));
}

TEST(NodeCostTest, SmallerInputsAreExpectedToTakeAsLong) {
  EXPECT_EQ(NodeCost{}.With(50'000, kLarge).Expected(kSmall), 50'000u);
}

TEST(NodeCostTest, TheFirstCallWithLargerInputsCountsAlone) {
  NodeCost cost = NodeCost{}.With(1'000, kSmall).With(100'000, kLarge);
  EXPECT_EQ(cost.ns, 100'000u);
  EXPECT_EQ(cost.input_bytes, kLarge);
  for (int i = 0; i < 200; ++i) cost = cost.With(1'000, kSmall);
  EXPECT_LT(cost.ns, 2'000u);
  EXPECT_TRUE(cost.IsOutgrownBy(kLarge)) << "both figures go back together";
}

}  // namespace
}  // namespace sluice

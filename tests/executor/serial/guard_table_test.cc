#include "executor/serial/guard_table.h"

#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

class GuardTableTest : public ::testing::Test {
 protected:
  GuardTableTest() {
    EXPECT_TRUE(table_.DeclarePredicate(1, 2, 0));
    EXPECT_TRUE(table_.DeclarePredicate(2, 2, 0));
    EXPECT_TRUE(table_.DeclarePredicate(3, 3, 0));
  }

  GuardId Of(std::vector<GuardLiteral> literals) {
    GuardId guard = kAlways;
    for (const GuardLiteral& literal : literals) guard = *table_.And(guard, literal);
    return guard;
  }

  GuardTable table_;
};

TEST_F(GuardTableTest, EqualConjunctionsAreOneGuard) {
  EXPECT_EQ(Of({{1, 0}, {2, 1}}), Of({{2, 1}, {1, 0}}));
  EXPECT_EQ(table_.And(Of({{1, 0}}), Of({{2, 1}})), Of({{1, 0}, {2, 1}}));
  EXPECT_EQ(Of({{1, 0}, {1, 0}}), Of({{1, 0}}));
  EXPECT_NE(Of({{1, 0}}), Of({{1, 1}}));
}

TEST_F(GuardTableTest, AlwaysIsNeutralAndNeverWins) {
  const GuardId some = Of({{1, 0}});
  EXPECT_EQ(table_.And(some, kAlways), some);
  EXPECT_EQ(table_.And(kAlways, some), some);
  EXPECT_EQ(table_.And(some, kNever), kNever);
  EXPECT_EQ(table_.And(kNever, some), kNever);
}

TEST_F(GuardTableTest, TwoPortsOfOnePredicateNeverHoldTogether) {
  EXPECT_EQ(Of({{1, 0}, {1, 1}}), kNever);
  EXPECT_EQ(table_.And(Of({{1, 0}, {2, 0}}), Of({{2, 1}})), kNever);
  EXPECT_TRUE(table_.Excludes(Of({{1, 0}, {2, 0}}), Of({{1, 1}})));
  EXPECT_FALSE(table_.Excludes(Of({{1, 0}}), Of({{2, 1}})));
  EXPECT_TRUE(table_.Excludes(kNever, kAlways));
}

TEST_F(GuardTableTest, JoinOfAllPortsDropsThePredicate) {
  EXPECT_EQ(table_.Join({Of({{1, 0}}), Of({{1, 1}})}), kAlways);
  EXPECT_EQ(table_.Join({Of({{3, 2}}), Of({{3, 0}}), Of({{3, 1}})}), kAlways);
  EXPECT_EQ(table_.Join({Of({{2, 0}, {1, 1}}), Of({{2, 0}, {1, 0}})}), Of({{2, 0}}));
}

TEST_F(GuardTableTest, JoinOfSomePortsIsRefused) {
  EXPECT_FALSE(table_.Join({Of({{3, 0}}), Of({{3, 1}})}).has_value());
  EXPECT_FALSE(table_.Join({Of({{1, 0}}), Of({{2, 1}})}).has_value());
  EXPECT_FALSE(table_.Join({Of({{1, 0}}), Of({{1, 0}})}).has_value());
  EXPECT_FALSE(table_.Join({Of({{1, 0}, {2, 0}}), Of({{1, 1}})}).has_value());
  EXPECT_FALSE(table_.Join({kAlways, Of({{1, 0}})}).has_value());
}

TEST_F(GuardTableTest, AlternativesThatNeverHoldAreLeftOutOfAJoin) {
  EXPECT_EQ(table_.Join({kNever, Of({{1, 1}})}), Of({{1, 1}}));
  EXPECT_EQ(table_.Join({kNever, kNever}), kNever);
  EXPECT_EQ(table_.Join({}), kNever);
}

TEST_F(GuardTableTest, APredicateHasOneNumberOfPorts) {
  EXPECT_FALSE(table_.DeclarePredicate(1, 3, 0));
  EXPECT_TRUE(table_.DeclarePredicate(1, 2, 0));
  EXPECT_EQ(table_.num_ports(1), 2);
}

// A block can only be opened where its predicate has been computed.
TEST_F(GuardTableTest, APredicateComputedInABlockComesBehindTheBlocks) {
  ASSERT_TRUE(table_.DeclarePredicate(9, 2, table_.RankUnder(Of({{1, 0}, {2, 1}}))));
  ASSERT_TRUE(table_.DeclarePredicate(7, 2, table_.RankUnder(Of({{9, 0}}))));
  const absl::Span<const GuardLiteral> both = table_.literals(Of({{7, 1}, {9, 0}}));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].pred, 9);
  EXPECT_EQ(both[1].pred, 7);
}

TEST_F(GuardTableTest, APredicateThatWasUsedTooEarlyIsRefused) {
  ASSERT_TRUE(table_.DeclarePredicate(9, 2, 0));
  EXPECT_FALSE(table_.DeclarePredicate(9, 2, table_.RankUnder(Of({{1, 0}}))));
}

TEST_F(GuardTableTest, VeryLongGuardsAreRefused) {
  GuardId guard = kAlways;
  for (int32_t pred = 100; pred < 100 + static_cast<int32_t>(GuardTable::kMaxLiterals); ++pred) {
    ASSERT_TRUE(table_.DeclarePredicate(pred, 2, table_.RankUnder(guard)));
    ASSERT_TRUE(table_.And(guard, GuardLiteral{pred, 1}).has_value());
    guard = *table_.And(guard, GuardLiteral{pred, 1});
  }
  EXPECT_FALSE(table_.And(guard, GuardLiteral{1, 0}).has_value());
  EXPECT_EQ(table_.And(guard, GuardLiteral{100, 0}), kNever);
}

}  // namespace
}  // namespace sluice

#include "graph/base/strong_id.h"

#include <sstream>
#include <type_traits>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash_testing.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

static_assert(!std::is_convertible_v<int32_t, NodeId> && !std::is_convertible_v<NodeId, int32_t>);
static_assert(!std::is_constructible_v<NodeId, StepId>);
static_assert(sizeof(NodeId) == sizeof(int32_t) && std::is_trivially_copyable_v<NodeId>);
static_assert(NodeId(3).value() == 3, "usable in constant expressions");

TEST(StrongIdTest, IsInvalidUntilGivenAValue) {
  EXPECT_FALSE(NodeId().valid());
  EXPECT_EQ(NodeId().value(), -1);
  EXPECT_TRUE(NodeId(0).valid());
}

TEST(StrongIdTest, ComparesAndStepsAsItsValue) {
  NodeId id(4);
  EXPECT_LT(NodeId(3), id);
  EXPECT_GE(id, NodeId(4));
  EXPECT_NE(++id, NodeId(4));
  EXPECT_EQ(id, NodeId(5));
}

TEST(StrongIdTest, Hashes) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly({NodeId(), NodeId(0), NodeId(1), NodeId(1 << 30)}));
  const absl::flat_hash_set<StepId> seen = {StepId(1), StepId(2), StepId(1)};
  EXPECT_EQ(seen.size(), 2u);
}

TEST(StrongIdTest, PrintsItsValue) {
  std::ostringstream out;
  out << StepId(12) << ' ' << StepId();
  EXPECT_EQ(out.str(), "12 -1");
}

}  // namespace
}  // namespace sluice

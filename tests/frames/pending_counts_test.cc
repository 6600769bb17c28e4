#include "frames/pending_counts.h"

#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

using Handle = PendingCounts::Handle;
using Arrival = PendingCounts::Arrival;

// Counters for 0 to 299 inputs: packed ones and large ones.
class ManyCounts {
 public:
  static constexpr uint32_t kCount = 300;

  ManyCounts() {
    PendingCounts::Layout layout;
    for (uint32_t i = 0; i < kCount; ++i) handles.push_back(layout.CreateHandle(i, i));
    counts = PendingCounts(layout);
    for (uint32_t i = 0; i < kCount; ++i) counts.set_initial_pending(handles[i], i);
  }

  std::vector<Handle> handles;
  PendingCounts counts;
};

TEST(PendingCountsTest, SmallNodesTakeAByteAndOthersEight) {
  PendingCounts::Layout layout;
  EXPECT_FALSE(layout.CreateHandle(7, 7).is_large());
  EXPECT_EQ(layout.num_bytes(), 1u);
  EXPECT_TRUE(layout.CreateHandle(8, 0).is_large());
  EXPECT_TRUE(layout.CreateHandle(0, 8).is_large());
  EXPECT_EQ(layout.num_bytes(), 24u);
}

TEST(PendingCountsTest, CountsDownAndFreezesTheDeadCountAtZero) {
  ManyCounts many;
  for (uint32_t i = 1; i < ManyCounts::kCount; ++i) {
    const Handle h = many.handles[i];
    EXPECT_EQ(many.counts.pending(h), i);
    many.counts.increment_dead(h);
    EXPECT_EQ(many.counts.dead_count(h), 1u);
    EXPECT_EQ(many.counts.decrement_pending(h, i), 0u);
    many.counts.increment_dead(h);
    EXPECT_EQ(many.counts.dead_count(h), 1u) << "the fate of a node that waits for nothing is settled";
  }
}

TEST(PendingCountsTest, CopiesAreIndependent) {
  ManyCounts many;
  PendingCounts copy(many.counts);
  for (uint32_t i = 1; i < ManyCounts::kCount; ++i) {
    copy.decrement_pending(many.handles[i], 1);
    EXPECT_EQ(copy.pending(many.handles[i]), i - 1);
    EXPECT_EQ(many.counts.pending(many.handles[i]), i);
  }
  copy.ResetTo(many.counts);
  EXPECT_EQ(copy.pending(many.handles[200]), 200u);
}

TEST(PendingCountsTest, MarkLiveShowsUpAsCount) {
  PendingCounts::Layout layout;
  const Handle handles[] = {layout.CreateHandle(5, 4), layout.CreateHandle(15, 4)};
  PendingCounts counts(layout);
  for (const Handle h : handles) {
    const uint32_t initial = h.is_large() ? 15 : 5;
    counts.set_initial_pending(h, initial);
    EXPECT_FALSE(counts.has_live(h));
    counts.mark_live(h);
    EXPECT_EQ(counts.pending(h), initial - 1);
    counts.mark_live(h);
    EXPECT_EQ(counts.pending(h), initial - 1) << "a second live value changes nothing";
    counts.decrement_pending(h, initial - 1);
    counts.mark_started(h);
    counts.mark_live(h);
    EXPECT_EQ(counts.pending(h), 0u);
    EXPECT_TRUE(counts.is_started(h));
  }
}

TEST(PendingCountsTest, StatesFollowOneAnother) {
  ManyCounts many;
  for (uint32_t i = 0; i < ManyCounts::kCount; ++i) {
    const Handle h = many.handles[i];
    for (uint32_t left = i; left > 0; --left) {
      EXPECT_EQ(many.counts.pending(h), left);
      many.counts.decrement_pending(h, 1);
    }
    EXPECT_EQ(many.counts.pending(h), 0u);
    EXPECT_FALSE(many.counts.is_started(h));
    many.counts.mark_started(h);
    EXPECT_TRUE(many.counts.is_started(h));
    EXPECT_EQ(many.counts.pending(h), 0u);
  }
}

TEST(PendingCountsTest, TheLastArrivalTellsWhetherAnyWasDead) {
  ManyCounts many;
  for (uint32_t i = 2; i < ManyCounts::kCount; ++i) {
    const Handle h = many.handles[i];
    const bool has_dead = i % 3 == 0;
    for (uint32_t k = 0; k + 1 < i; ++k) EXPECT_EQ(many.counts.Arrive(h, has_dead && k == 0), Arrival::kWaiting);
    EXPECT_EQ(many.counts.Arrive(h, false), has_dead ? Arrival::kDead : Arrival::kLive) << i;
    EXPECT_EQ(many.counts.dead_count(h), has_dead ? 1u : 0u);
  }
}

TEST(PendingCountsTest, AllArrivalsMayBeDead) {
  ManyCounts many;
  for (uint32_t i = 1; i < ManyCounts::kCount; ++i) {
    Arrival last = Arrival::kWaiting;
    for (uint32_t k = 0; k < i; ++k) last = many.counts.Arrive(many.handles[i], true);
    EXPECT_EQ(last, Arrival::kDead);
    EXPECT_EQ(many.counts.dead_count(many.handles[i]), i);
  }
}

}  // namespace
}  // namespace sluice

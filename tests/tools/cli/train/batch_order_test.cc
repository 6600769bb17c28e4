#include "tools/cli/train/batch_order.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

std::vector<int64_t> Numbers(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

BatchOrder Order(int64_t rows, int64_t batch, bool keep_last, bool shuffle = true, uint64_t seed = 1) {
  return BatchOrder(Numbers(rows), {batch, seed, shuffle, keep_last});
}

std::vector<int64_t> Epoch(BatchOrder& order, int64_t epoch) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < order.batches_per_epoch(); ++i) {
    const auto batch = order.Batch(epoch, i);
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
  return rows;
}

TEST(BatchOrderTest, AnEpochHasEachRowOnce) {
  BatchOrder order = Order(103, 10, /*keep_last=*/true);
  EXPECT_EQ(order.batches_per_epoch(), 11);
  EXPECT_EQ(order.Batch(0, 10).size(), 3);
  for (int64_t epoch : {0, 1, 7}) {
    std::vector<int64_t> rows = Epoch(order, epoch);
    EXPECT_NE(rows, Numbers(103));
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, Numbers(103));
  }
  EXPECT_NE(Epoch(order, 0), Epoch(order, 1));
}

TEST(BatchOrderTest, ALastBatchOfFewerRowsMayBeLeftOut) {
  BatchOrder order = Order(103, 10, /*keep_last=*/false);
  EXPECT_EQ(order.batches_per_epoch(), 10);
  EXPECT_EQ(Epoch(order, 0).size(), 100);
  EXPECT_EQ(Order(9, 10, false).batches_per_epoch(), 0);
  EXPECT_EQ(Order(0, 10, true).batches_per_epoch(), 0);
}

TEST(BatchOrderTest, ABatchDependsOnItsPlaceAlone) {
  BatchOrder once = Order(50, 7, true), again = Order(50, 7, true);
  Epoch(once, 0);
  Epoch(once, 1);
  const auto a = once.Batch(2, 3);
  const std::vector<int64_t> kept(a.begin(), a.end());
  const auto b = again.Batch(2, 3);
  EXPECT_EQ(kept, std::vector<int64_t>(b.begin(), b.end()));
  BatchOrder other = Order(50, 7, true, true, /*seed=*/2);
  EXPECT_NE(Epoch(other, 2), Epoch(again, 2));
}

TEST(BatchOrderTest, WithoutAShuffleRowsStandAsTheyAre) {
  BatchOrder order = Order(20, 6, true, /*shuffle=*/false);
  EXPECT_EQ(Epoch(order, 3), Numbers(20));
}

// The order is promised to be the same on every machine: these numbers come from a program in another language.
TEST(ShuffledNumbersTest, AreTheSameEverywhere) {
  EXPECT_EQ(ShuffledNumbers(8, 0, 0), (std::vector<int64_t>{1, 2, 6, 5, 4, 0, 3, 7}));
}

TEST(ShuffledNumbersTest, EveryOrderComesUp) {
  std::set<std::vector<int64_t>> orders;
  for (uint64_t stream = 0; stream < 200; ++stream) orders.insert(ShuffledNumbers(4, 1, stream));
  EXPECT_EQ(orders.size(), 24);
}

}  // namespace
}  // namespace sluice

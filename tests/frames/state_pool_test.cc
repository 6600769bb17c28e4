#include "frames/state_pool.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

struct State {
  explicit State(int made_with) : number(made_with) {}
  int number;
  int resets = 0;
};

// Takes `count` states at once and gives them back.
void UseMany(StatePool<State>& pool, int count) {
  std::vector<State*> taken;
  for (int i = 0; i < count; ++i) taken.push_back(&pool.Take(i));
  for (State* state : taken) pool.Put(state);
}

int EndRun(StatePool<State>& pool) {
  int resets = 0;
  pool.PutAll([&resets](State& state) {
    ++state.resets;
    ++resets;
  });
  return resets;
}

TEST(StatePoolTest, WhatIsGivenBackIsTakenAgain) {
  StatePool<State> pool;
  State& first = pool.Take(1);
  EXPECT_EQ(first.number, 1);
  EXPECT_NE(&pool.Take(2), &first);
  pool.Put(&first);
  EXPECT_EQ(&pool.Take(3), &first);
  EXPECT_EQ(pool.size(), 2u);
}

TEST(StatePoolTest, OnlyWhatARunTookIsReset) {
  StatePool<State> pool;
  UseMany(pool, 10);
  EXPECT_EQ(EndRun(pool), 10);
  UseMany(pool, 3);
  EXPECT_EQ(EndRun(pool), 3);
  EXPECT_EQ(EndRun(pool), 0);
  UseMany(pool, 4);
  UseMany(pool, 2);
  EXPECT_EQ(EndRun(pool), 4);
}

TEST(StatePoolTest, WhatWasNotGivenBackIsTakenBackAndReset) {
  StatePool<State> pool;
  std::set<State*> all;
  for (int i = 0; i < 5; ++i) all.insert(&pool.Take(i));
  pool.Put(*all.begin());
  EXPECT_EQ(EndRun(pool), 5);
  std::set<State*> again;
  for (int i = 0; i < 5; ++i) again.insert(&pool.Take(i));
  EXPECT_EQ(again, all) << "each once";
}

TEST(StatePoolTest, ARunThatNeedsFewGivesUpWhatAnEarlierOneNeeded) {
  StatePool<State> pool;
  UseMany(pool, 1000);
  EndRun(pool);
  EXPECT_EQ(pool.size(), 1000u);
  UseMany(pool, 4);
  EndRun(pool);
  EXPECT_LE(pool.size(), 24u);
  UseMany(pool, 30);
  EXPECT_EQ(EndRun(pool), 30);
  EXPECT_EQ(pool.size(), 30u);
}

}  // namespace
}  // namespace sluice

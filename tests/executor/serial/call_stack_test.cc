#include "executor/serial/call_stack.h"

#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(ObjectStackTest, WhatIsTakenStaysWhereItIs) {
  ObjectStack<int> stack;
  std::vector<int*> taken;
  for (int i = 0; i < 1000; ++i) {
    taken.push_back(stack.Take(7));
    for (int k = 0; k < 7; ++k) taken.back()[k] = i;
  }
  for (int i = 0; i < 1000; ++i) {
    for (int k = 0; k < 7; ++k) EXPECT_EQ(taken[static_cast<size_t>(i)][k], i);
  }
}

TEST(ObjectStackTest, WhatIsGivenBackIsTakenAgain) {
  ObjectStack<int> stack;
  const ObjectStack<int>::Mark begin = stack.mark();
  std::vector<int*> first, second;
  for (int i = 1; i < 100; ++i) first.push_back(stack.Take(static_cast<size_t>(i)));
  stack.Return(begin);
  for (int i = 1; i < 100; ++i) second.push_back(stack.Take(static_cast<size_t>(i)));
  EXPECT_EQ(first, second);
}

TEST(ObjectStackTest, ABlockThatIsTooSmallIsPassedOver) {
  ObjectStack<int> stack;
  int* const small = stack.Take(1);
  const ObjectStack<int>::Mark mark = stack.mark();
  int* const large = stack.Take(100'000);
  large[99'999] = 1;
  stack.Return(mark);
  EXPECT_EQ(stack.Take(1), small + 1);
  EXPECT_EQ(stack.Take(100'000), large);
  EXPECT_NE(stack.Take(0), nullptr);
}

}  // namespace
}  // namespace sluice

// Passes as graphs: when they are compiled, and that they give what passes give that call their ops one by one.

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

class TapeStructureTest : public TapeFixture {};

TEST_F(TapeStructureTest, AStructureIsCompiledTheSecondTime) {
  for (int i = 0; i < 5; ++i) {
    const Var x = Leaf({1, 2}), y = Leaf({static_cast<float>(i), 4});
    ASSERT_OK(Sum(Tanh(x) * y + x).Backward());
    EXPECT_EQ(tape_.NumCompiledStructures(), i == 0 ? 0 : 1);
    EXPECT_EQ(tape_.NumPassesOfKnownStructure(), i < 2 ? 0 : i - 1);
    const float slope = 1 - std::tanh(1.0f) * std::tanh(1.0f);
    EXPECT_FLOAT_EQ(GradOf(x)[0], 1 + slope * static_cast<float>(i));
    EXPECT_FLOAT_EQ(GradOf(y)[1], std::tanh(2.0f));
  }
}

TEST_F(TapeStructureTest, WhatARowAskedForIsPartOfTheStructure) {
  // Shapes decide how much is summed, the axes of the reduction how.
  for (int i = 0; i < 4; ++i) {
    for (const int n : {2, 3}) {
      const Var x = Leaf(std::vector<float>(static_cast<size_t>(n), 2)), b = Leaf(3);
      ASSERT_OK(Sum(x * b).Backward());
      EXPECT_THAT(GradOf(b), ElementsAre(2 * n));
      EXPECT_THAT(GradOf(x), ::testing::Each(3));
      const Var m = Leaf(Shape::Of({2, 3}), {1, 2, 3, 4, 5, 6});
      const int axis = n - 2;
      const Var sums = Sum(m, {axis});
      ASSERT_OK(Sum(sums * sums).Backward());
      EXPECT_THAT(GradOf(m)[0], axis == 0 ? 10 : 12);
    }
  }
  EXPECT_EQ(tape_.NumCompiledStructures(), 4);
}

TEST_F(TapeStructureTest, ErrorsAreThoseOfOtherPasses) {
  for (int i = 0; i < 3; ++i) {
    const Var x = Leaf({1, 2});
    Var y = x * 2.0;
    const Var z = Sum(y * y);
    ASSERT_OK(Retained(z));
    ASSERT_OK(z.Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(16, 32));
    EXPECT_THAT(z.Backward(), IsError(ErrorCode::kWrongUse, "second time"));
    const Var u = Sum(y * y);
    ASSERT_OK(y.Assign(y + 1.0));
    EXPECT_THAT(u.Backward(), IsError(ErrorCode::kWrongUse, "modified by an assignment"));
  }
  EXPECT_GT(tape_.NumPassesOfKnownStructure(), 0);
}

TEST_F(TapeStructureTest, CapturesAndUnusedInputs) {
  GradOptions options;
  options.allow_unused = true;
  for (int i = 0; i < 4; ++i) {
    const Var x = Leaf(3), alone = Leaf(1), y = x * x;
    ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({y * 2.0, y}, {y, alone, x}, {}, options));
    EXPECT_THAT(Values(grads[0]), ElementsAre(3));
    EXPECT_FALSE(grads[1].defined());
    EXPECT_THAT(Values(grads[2]), ElementsAre(18));
    EXPECT_FALSE(x.grad().defined());
  }
  EXPECT_EQ(tape_.NumPassesOfKnownStructure(), 2);
}

TEST_F(TapeStructureTest, TheCacheIsBounded) {
  TapeOptions options;
  options.max_structures = 4;
  Tape tape(options);
  for (int round = 0; round < 3; ++round) {
    for (int length = 1; length < 20; ++length) {
      const Var x = tape.Leaf(Tensor::Scalar(1.0f));
      Var y = x;
      for (int i = 0; i < length; ++i) y = y + y;
      ASSERT_OK(y.Backward());
      ASSERT_OK_AND_ASSIGN(const float grad, x.grad().value().AsScalar<float>());
      EXPECT_EQ(grad, static_cast<float>(1 << length));
    }
  }
  // None came again before four others had.
  EXPECT_EQ(tape.NumCompiledStructures(), 0);
}

// The same program on tapes that compile and on one that does not: equal to the last bit.
TEST_F(TapeStructureTest, RandomProgramsGiveEqualBits) {
  TapeOptions plain, threaded;
  plain.max_structures = 0;
  threaded.num_threads = 4;
  Tape one_by_one(plain), several(threaded);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::vector<std::vector<float>> expected;
    Tape* const tapes[] = {&one_by_one, &tape_, &tape_, &tape_, &several, &several};
    for (Tape* const tape : tapes) {
      std::mt19937 random(seed);
      const auto below = [&](size_t n) { return random() % n; };
      std::vector<Var> leaves, values;
      for (int i = 0; i < 4; ++i) {
        std::vector<float> elements;
        for (int k = 0; k < 12; ++k) elements.push_back(static_cast<float>(below(1000)) / 500 - 1);
        leaves.push_back(tape->Leaf(Tensor::Of<float>(i % 2 == 0 ? Shape::Of({3, 4}) : Shape::Of({12, 1}), elements)));
      }
      for (const Var& leaf : leaves) values.push_back(Reshape(leaf, {3, 4}));
      for (int i = 0; i < 25; ++i) {
        const Var a = values[below(values.size())], b = values[below(values.size())];
        switch (below(8)) {
          case 0:
            values.push_back(a + b);
            break;
          case 1:
            values.push_back(a * b);
            break;
          case 2:
            values.push_back(Tanh(a) - b);
            break;
          case 3:
            values.push_back(MatMul(a, b, false, true) * 0.1 * Sum(b, {0, 1}));
            values.back() = MatMul(values.back(), b);
            break;
          case 4:
            values.push_back(Split(Concat({a, b}, 0), 0, 2)[below(2)]);
            break;
          case 5:
            values.push_back(a * Mean(b, {1}, true));
            break;
          case 6:
            values.push_back(Transpose(Softmax(Transpose(a, {1, 0})), {1, 0}));
            break;
          default:
            values.push_back(Maximum(a, b) / 2.0);
        }
      }
      ASSERT_OK(tape->Backward({Mean(values.back()), Sum(values[values.size() / 2])}));
      std::vector<std::vector<float>> grads;
      for (const Var& leaf : leaves) grads.push_back(leaf.grad().defined() ? GradOf(leaf) : std::vector<float>());
      if (expected.empty()) expected = grads;
      for (size_t i = 0; i < grads.size(); ++i) {
        ASSERT_EQ(grads[i].size(), expected[i].size()) << seed;
        for (size_t k = 0; k < grads[i].size(); ++k) {
          const bool are_equal =
              grads[i][k] == expected[i][k] || (std::isnan(grads[i][k]) && std::isnan(expected[i][k]));
          ASSERT_TRUE(are_equal) << "seed " << seed << ": " << grads[i][k] << " for " << expected[i][k];
        }
      }
    }
  }
  EXPECT_GT(tape_.NumPassesOfKnownStructure(), 50);
}

}  // namespace
}  // namespace sluice

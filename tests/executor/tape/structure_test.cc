// Passes as graphs: when they are compiled, and that they give what passes give that call their ops one by one.

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/base/cancellation.h"
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
    EXPECT_THAT(z.Backward(), IsError(ErrorCode::kTapeFreed, "second time"));
    const Var u = Sum(y * y);
    ASSERT_OK(y.Assign(y + 1.0));
    EXPECT_THAT(u.Backward(), IsError(ErrorCode::kTapeModified, "modified by an assignment"));
  }
  EXPECT_GT(tape_.NumPassesOfKnownStructure(), 0);
}

TEST_F(TapeStructureTest, APassThatIsCancelledBeforehandTakesNothing) {
  CancellationManager cancelled;
  cancelled.StartCancel();
  BackwardOptions options;
  options.cancellation = &cancelled;
  for (int i = 0; i < 4; ++i) {
    const Var x = Leaf({1, 2});
    const Var y = Sum(x * x * x);
    EXPECT_THAT(tape_.Backward({y}, {}, options), StatusIs(absl::StatusCode::kCancelled));
    ASSERT_OK(y.Backward());  // The values are there still.
    EXPECT_THAT(GradOf(x), ElementsAre(3, 12));
  }
  EXPECT_GT(tape_.NumCompiledStructures(), 0);
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

// Of outputs from the 63rd on some have gradients and others none.
TEST_F(TapeStructureTest, OneOfAHundredOutputs) {
  for (int i = 0; i < 4; ++i) {
    const Var x = Leaf(std::vector<float>(100, 1.0f));
    const std::vector<Var> parts = Split(x, 0, 100);
    ASSERT_OK(Sum(parts[70] * 2.0).Backward());
    std::vector<float> expected(100, 0.0f);
    expected[70] = 2;
    EXPECT_EQ(GradOf(x), expected);
    const Var y = Leaf(std::vector<float>(100, 1.0f));
    ASSERT_OK(Sum(Concat(Split(y, 0, 100), 0) * 3.0).Backward());
    EXPECT_THAT(GradOf(y), ::testing::Each(3));
  }
  EXPECT_EQ(tape_.NumPassesOfKnownStructure(), 4);
}

// They stand for gradients that are not there, and are constants of the graph.
TEST_F(TapeStructureTest, ZerosOfAnotherShapeAreAnotherStructure) {
  for (int i = 0; i < 4; ++i) {
    for (const size_t columns : {2, 3}) {
      const auto dim = static_cast<int64_t>(columns);
      const Var x = Leaf(Shape::Of({2, dim}), std::vector<float>(2 * columns, 1.0f));
      ASSERT_OK(Sum(CallOps("Unpack", {x}, {{"num", 2}, {"axis", 0}})[1] * 3.0).Backward());
      std::vector<float> expected(2 * columns, 0.0f);
      std::fill(expected.begin() + static_cast<std::ptrdiff_t>(columns), expected.end(), 3.0f);
      EXPECT_EQ(GradOf(x), expected);
    }
  }
  EXPECT_EQ(tape_.NumCompiledStructures(), 2);
}

// Structures whose nodes and captures look alike when they are written down one behind the other.
TEST_F(TapeStructureTest, StructuresThatLookAlike) {
  GradOptions options;
  options.allow_unused = true;
  for (int i = 0; i < 3; ++i) {
    const Var x = Leaf({1, 2, 3, 4, 5, 6, 7, 8}), u = Leaf(1);
    const Var h = x * 2.0;
    const std::vector<Var> p = Split(h, 0, 8);
    ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({p[0]}, {p[2], u}, {}, options));
    EXPECT_FALSE(grads[0].defined());
    EXPECT_FALSE(grads[1].defined());
  }
  for (int i = 0; i < 3; ++i) {
    const Var x = Leaf({1, 2, 3, 4, 5, 6, 7, 8}), u = Leaf(1);
    const std::vector<Var> p = Split(x, 0, 8);
    ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({p[0]}, {p[4], p[2], u}, {}, options));
    ASSERT_EQ(grads.size(), 3u);
    for (const Var& grad : grads) EXPECT_FALSE(grad.defined());
  }
}

TEST_F(TapeStructureTest, TheTypeOfASeedIsPartOfTheStructure) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(Leaf(1).Backward());
    const Var x = tape_.Leaf(Tensor::Scalar(1.0));
    ASSERT_OK(x.Backward());
    EXPECT_EQ(x.grad().dtype(), DType::kDouble);
    const Var y = Leaf(1) * 2.0, z = Cast(x, DType::kFloat);
    ASSERT_OK(tape_.Grad({y}, {y}).status());
    ASSERT_OK(tape_.Grad({z}, {z}).status());
    ASSERT_OK(tape_.Grad({x * 1.0}, {x}).status());
  }
}

// What ran before an error stays, and what did not run keeps its values, whichever way the pass is run.
TEST_F(TapeStructureTest, AnErrorLeavesTheSameState) {
  for (int i = 0; i < 4; ++i) {
    const Var w = Leaf({1, 2}), v = Leaf({3, 4});
    Var y = w * 2.0;
    const Var deep = Sum(y * y), other = v * v;
    const Var z = deep + Sum(other);
    ASSERT_OK(y.Assign(y + 1.0));
    EXPECT_THAT(z.Backward(), IsError(ErrorCode::kTapeModified, "modified by an assignment"));
    EXPECT_THAT(GradOf(v), ElementsAre(6, 8));
    EXPECT_FALSE(w.grad().defined());
    EXPECT_THAT(Sum(other).Backward(), IsError(ErrorCode::kTapeFreed, "second time"));
    // The product by two has saved its input, and not run.
    ASSERT_OK(Sum(y).Backward());
    EXPECT_THAT(GradOf(w), ElementsAre(2, 2));
  }
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

// A random program of 25 ops over four leaves.
class RandomProgram {
 public:
  RandomProgram(Tape& tape, uint32_t seed) : tape_(tape), random_(seed) {
    for (int i = 0; i < 4; ++i) {
      std::vector<float> elements;
      for (int k = 0; k < 12; ++k) elements.push_back(static_cast<float>(Below(1000)) / 500 - 1);
      leaves_.push_back(tape.Leaf(Tensor::Of<float>(i % 2 == 0 ? Shape::Of({3, 4}) : Shape::Of({12, 1}), elements)));
      values_.push_back(Reshape(leaves_.back(), {3, 4}));
    }
    for (int i = 0; i < 25; ++i) values_.push_back(NextOp());
  }

  // The gradients of the leaves; empty where there is none.
  std::vector<std::vector<float>> Gradients() {
    EXPECT_OK(tape_.Backward({Mean(values_.back()), Sum(values_[values_.size() / 2])}));
    std::vector<std::vector<float>> grads;
    for (const Var& leaf : leaves_) {
      const Var grad = leaf.grad();
      grads.emplace_back();
      if (grad.defined()) grads.back().assign(grad.value().flat<float>().begin(), grad.value().flat<float>().end());
    }
    return grads;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  Var NextOp() {
    const Var a = values_[Below(values_.size())], b = values_[Below(values_.size())];
    switch (Below(8)) {
      case 0:
        return a + b;
      case 1:
        return a * b;
      case 2:
        return Tanh(a) - b;
      case 3:
        return MatMul(MatMul(a, b, false, true) * 0.1 * Sum(b, {0, 1}), b);
      case 4:
        return Split(Concat({a, b}, 0), 0, 2)[Below(2)];
      case 5:
        return a * Mean(b, {1}, true);
      case 6:
        return Transpose(Softmax(Transpose(a, {1, 0})), {1, 0});
      default:
        return Maximum(a, b) / 2.0;
    }
  }

  Tape& tape_;
  std::mt19937 random_;
  std::vector<Var> leaves_, values_;
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  const auto are_same = [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), are_same);
}

// The same program on tapes that compile and on one that does not: equal to the last bit.
TEST_F(TapeStructureTest, RandomProgramsGiveEqualBits) {
  TapeOptions plain, threaded;
  plain.max_structures = 0;
  threaded.num_threads = 4;
  Tape one_by_one(plain), several(threaded);
  Tape* const tapes[] = {&tape_, &tape_, &tape_, &several, &several};
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const std::vector<std::vector<float>> expected = RandomProgram(one_by_one, seed).Gradients();
    for (Tape* const tape : tapes) {
      const std::vector<std::vector<float>> found = RandomProgram(*tape, seed).Gradients();
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_TRUE(SameBits(found[i], expected[i])) << seed << ", leaf " << i;
    }
  }
  EXPECT_GT(tape_.NumPassesOfKnownStructure(), 50);
}

}  // namespace
}  // namespace sluice

// What a recorded op and a pass cost, counted: allocations (operator new).

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int kLength = 1000;

class TapeCountsTest : public TapeFixture {
 protected:
  Var Chain(const Var& x) {
    Var y = x;
    for (int i = 0; i < kLength; ++i) y = i % 2 == 0 ? y * one_ : y + one_;
    return y;
  }

  const Var one_ = Constant(0.5f);
};

TEST_F(TapeCountsTest, ARecordedOpAllocatesItsVariableAndItsNode) {
  const Var x = Leaf(1);
  (void)Chain(x);  // Kernels and gradients are made.
  const int64_t before = NewCalls();
  const Var y = Chain(x);
  const int64_t calls = NewCalls() - before;
#ifdef SLUICE_COUNTS_NEW
  EXPECT_EQ(calls, 2 * kLength);
#endif
  EXPECT_GE(calls, 0);
}

TEST_F(TapeCountsTest, AnOpThatIsNotRecordedAllocatesItsVariable) {
  const Var x = Constant(1);
  (void)Chain(x);
  const int64_t before = NewCalls();
  const Var y = Chain(x);
  EXPECT_LE(NewCalls() - before, kLength);
}

TEST_F(TapeCountsTest, APassOfKnownStructureAllocatesForTheWholeNotForEachOp) {
  const Var x = Leaf(1);
  for (int i = 0; i < 3; ++i) ASSERT_OK(Chain(x).Backward());
  const Var y = Chain(x);
  const int64_t before = NewCalls();
  ASSERT_OK(y.Backward());
  EXPECT_LE(NewCalls() - before, 200);
}

TEST_F(TapeCountsTest, StepsThatAreAlikeKeepNothing) {
  const Var x = Leaf(1);
  const auto step = [&] {
    EXPECT_OK(Chain(x).Backward());
    Var(x).ClearGrad();
  };
  for (int i = 0; i < 4; ++i) step();
  const int64_t before = LiveNewBytes();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(LiveNewBytes(), before);
}

TEST_F(TapeCountsTest, ATapeLeavesNothingBehind) {
  const auto use = [] {
    Tape tape;
    const Var x = tape.Leaf(Tensor::Vector<float>({1, 2}));
    const Var gradient = [&] {
      GradOptions options;
      options.create_graph = true;
      const absl::StatusOr<std::vector<Var>> grads = tape.Grad({Sum(x * x * x)}, {x}, {}, options);
      EXPECT_OK(grads.status());
      return grads->front();
    }();
    EXPECT_OK(Sum(gradient * gradient).Backward());
  };
  use();
  const int64_t before = LiveNewBytes();
  // A gradient is made of ops whose gradients are made of the same ops.
  use();
  EXPECT_EQ(LiveNewBytes(), before);
}

}  // namespace
}  // namespace sluice

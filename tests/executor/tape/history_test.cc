// Groups D (retain, release, higher order), E (hooks) and F (saved values, versions, modes) of
// reference/pytorch-autograd.md, 4.

#include <string>
#include <utility>
#include <vector>

#include "executor/tape/grad_mode.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsEmpty;

class TapeHistoryTest : public TapeFixture {
 protected:
  // A hook that adds its name to calls_, and multiplies the gradient.
  GradHook Note(std::string name, double factor = 1) {
    return [this, name = std::move(name), factor](const Var& grad) -> absl::StatusOr<Var> {
      calls_.push_back(name);
      return factor == 1 ? Var() : grad * factor;
    };
  }

  std::vector<std::string> calls_;
};

TEST_F(TapeHistoryTest, D01ASecondPassOverSavedValuesFails) {
  const Var x = Leaf({1, 2}), y = Sum(x * x);
  ASSERT_OK(y.Backward());
  const absl::Status second = y.Backward();
  EXPECT_THAT(second, IsError(ErrorCode::kTapeFreed, "MulBackward"));
  EXPECT_THAT(FormatError(second), ::testing::HasSubstr("retain_graph"));
}

TEST_F(TapeHistoryTest, D02RetainedOrNothingSaved) {
  const Var x = Leaf({1, 2}), y = Sum(x * x), z = Sum(x + x);
  ASSERT_OK(Retained(y));
  ASSERT_OK(y.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(4, 8));
  ASSERT_OK(z.Backward());
  ASSERT_OK(z.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(8, 12));
}

TEST_F(TapeHistoryTest, D03HessianTimesVector) {
  const Var x = Leaf({1, 2}), v = Constant({1, 10});
  const Var gradient = Derivative(Sum(x * x * x), x);
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> product, tape_.Grad({Sum(gradient * v)}, {x}));
  EXPECT_THAT(Values(product[0]), ElementsAre(6 * 1, 6 * 2 * 10));
}

TEST_F(TapeHistoryTest, D03ManyOrders) {
  const Var x = Leaf(0.5f);
  Var y = Tanh(x);
  for (int order = 0; order < 3; ++order) y = Derivative(y, x);
  const float t = Values(Tanh(x))[0], s = 1 - t * t;
  EXPECT_THAT(Values(y), ElementsAre(FloatNear(-2 * s * (s - 2 * t * t), 1e-5f)));
}

TEST_F(TapeHistoryTest, D06LongChainsAreFreedWithoutRecursion) {
  Var x = Leaf(1);
  Var y = x;
  for (int i = 0; i < 150000; ++i) y = y + x;
  ASSERT_OK(y.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(150001));
}

TEST_F(TapeHistoryTest, D06LongChainsOfGradientsToo) {
  const Var x = Leaf(1);
  Var y = x;
  for (int i = 0; i < 20000; ++i) y = Tanh(y);
  const Var first = Derivative(y, x);
  EXPECT_TRUE(first.requires_grad());
}

TEST_F(TapeHistoryTest, D07WhatNoGradientReadsIsNotKept) {
  const std::vector<float> ones(64, 1.0f);
  const Var x = Leaf(ones);
  const Var a = x + Constant(ones), b = Exp(a), c = b * Constant(ones);
  EXPECT_TRUE(a.value().IsUniquelyOwned());
  EXPECT_FALSE(b.value().IsUniquelyOwned());  // The output of Exp is its derivative.
  EXPECT_TRUE(c.value().IsUniquelyOwned());
}

TEST_F(TapeHistoryTest, D08WhatIsNotSavedMayChange) {
  const Var x = Leaf({1, 2});
  Var y = x * 2.0;
  const Var z = Sum(y + y);
  ASSERT_OK(y.Assign(y * 5.0));
  ASSERT_OK(z.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(4, 4));
}

TEST_F(TapeHistoryTest, D10NoCycleThroughGradients) {
  const auto step = [&](Var x) {
    EXPECT_OK(Backward(x * x * x, Var(), true, /*create_graph=*/true));
    EXPECT_TRUE(x.grad().requires_grad());
    x.ClearGrad();
  };
  const Var x = Leaf(2);
  for (int i = 0; i < 10; ++i) step(x);
  const int64_t before = LiveNewBytes();
  for (int i = 0; i < 1000; ++i) step(x);
  EXPECT_EQ(LiveNewBytes(), before);
  for (int i = 0; i < 100; ++i) {
    // Its gradient is computed from itself, and goes with it.
    const Var temporary = Leaf(3);
    EXPECT_OK(Backward(temporary * temporary, Var(), true, /*create_graph=*/true));
  }
  EXPECT_EQ(LiveNewBytes(), before);
}

TEST_F(TapeHistoryTest, ALeafThatWantsNoGradientAnyMoreGetsNone) {
  Var x = Leaf(2);
  const Var y = x * x;
  ASSERT_OK(x.SetRequiresGrad(false));
  ASSERT_OK(y.Backward());
  EXPECT_FALSE(x.grad().defined());
  EXPECT_THAT((x * y).SetRequiresGrad(false), IsError(ErrorCode::kTapeNeedsNoGrad, "only leaves"));
}

TEST_F(TapeHistoryTest, E01HooksCountChangeAndGo) {
  const Var x = Leaf({1, 2});
  Var y = x * 3.0;
  ASSERT_OK_AND_ASSIGN(HookHandle first, y.AddHook(Note("first", 2)));
  ASSERT_OK_AND_ASSIGN(HookHandle second, y.AddHook(Note("second", 5)));
  ASSERT_OK(Retained(Sum(y)));
  EXPECT_THAT(calls_, ElementsAre("first", "second"));
  EXPECT_THAT(GradOf(x), ElementsAre(30, 30));
  EXPECT_TRUE(first.is_added());
  first.Remove();
  EXPECT_FALSE(first.is_added());
  first.Remove();
  Var(x).ClearGrad();
  ASSERT_OK(Sum(y).Backward());
  EXPECT_THAT(calls_, ElementsAre("first", "second", "second"));
  EXPECT_THAT(GradOf(x), ElementsAre(15, 15));
  second.Remove();
  EXPECT_THAT(Constant(1).AddHook(Note("none")), IsError(ErrorCode::kTapeNeedsNoGrad, "requires no gradient"));
}

TEST_F(TapeHistoryTest, E01BadReplacementsAreRefused) {
  Var x = Leaf({1, 2});
  ASSERT_OK(x.AddHook([&](const Var&) { return Constant({1, 2, 3}); }).status());
  EXPECT_THAT(Sum(x).Backward(), IsError(ErrorCode::kTapeHook, "hook of AccumulateGrad"));
  Var y = Leaf({1, 2});
  ASSERT_OK(y.AddHook([&](const Var& grad) { return Cast(grad, DType::kDouble); }).status());
  EXPECT_THAT(Sum(y).Backward(), IsError(ErrorCode::kTapeHook, "hook of AccumulateGrad"));
}

TEST_F(TapeHistoryTest, E02NodeHooks) {
  const Var x = Leaf({1, 2, 3, 4});
  const std::vector<Var> parts = Split(x, 0, 2);
  NodeRef node = parts[0].grad_fn();
  EXPECT_EQ(node.name(), "SplitBackward");
  ASSERT_OK_AND_ASSIGN(HookHandle pre, node.AddPreHook([&](absl::Span<const Var> grads) {
    calls_.push_back(grads[1].defined() ? "both" : "one");
    return std::vector<Var>{grads[0] * 2.0, grads[1]};
  }));
  ASSERT_OK_AND_ASSIGN(HookHandle post,
                       node.AddPostHook([&](absl::Span<const Var> inputs, absl::Span<const Var> outputs) {
                         calls_.push_back("post");
                         EXPECT_THAT(Values(outputs[0]), ElementsAre(2, 2));
                         return std::vector<Var>{inputs[0], inputs[1] * 10.0};
                       }));
  ASSERT_OK(Retained(Sum(parts[0])));
  EXPECT_THAT(calls_, ElementsAre("one", "post"));
  EXPECT_THAT(GradOf(x), ElementsAre(20, 20, 0, 0));
  pre.Remove();
  post.Remove();
  EXPECT_FALSE(post.is_added());
  Var(x).ClearGrad();
  ASSERT_OK(Sum(parts[0] + parts[1]).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(calls_.size(), 2u);
}

TEST_F(TapeHistoryTest, E02AnUndefinedGradientIsNotReplaced) {
  const Var x = Leaf({1, 2, 3, 4});
  const std::vector<Var> parts = Split(x, 0, 2);
  ASSERT_OK(parts[0]
                .grad_fn()
                .AddPreHook([](absl::Span<const Var> grads) {
                  return std::vector<Var>{grads[0], grads[0]};
                })
                .status());
  EXPECT_THAT(Sum(parts[0]).Backward(), IsError(ErrorCode::kTapeHook, "where there was none"));
}

// As in test_hook_none, whose outputs all have gradients; PyTorch 2.15 calls hooks of outputs without one, too.
TEST_F(TapeHistoryTest, E03HooksOfOutputsWithoutAGradient) {
  const Var x = Leaf({1, 2, 3, 4});
  std::vector<Var> parts = Split(x, 0, 2);
  std::vector<bool> seen;
  ASSERT_OK(parts[1]
                .AddHook([&seen](const Var& grad) {
                  seen.push_back(grad.defined());
                  return Var();
                })
                .status());
  ASSERT_OK(Sum(parts[0]).Backward());
  EXPECT_THAT(seen, testing::ElementsAre(false));
  ASSERT_OK(Sum(Split(x, 0, 2)[0] + parts[1]).Backward());
  EXPECT_THAT(seen, testing::ElementsAre(false, true));
}

TEST_F(TapeHistoryTest, E04HooksBelongToTheValueAtTheirTime) {
  const Var x = Leaf({1, 2});
  Var y = x * 1.0;
  std::vector<float> before, after;
  ASSERT_OK(y.AddHook([&](const Var& grad) {
               before = Values(grad);
               return Var();
             }).status());
  ASSERT_OK(y.RetainGrad());
  ASSERT_OK(y.Assign(y * 3.0));
  ASSERT_OK(y.AddHook([&](const Var& grad) {
               after = Values(grad);
               return Var();
             }).status());
  EXPECT_TRUE(y.retains_grad());
  ASSERT_OK(Sum(y * 5.0).Backward());
  EXPECT_THAT(before, ElementsAre(15, 15));
  EXPECT_THAT(after, ElementsAre(5, 5));
  EXPECT_THAT(GradOf(y), ElementsAre(5, 5));
  EXPECT_THAT(GradOf(x), ElementsAre(15, 15));
}

TEST_F(TapeHistoryTest, E05RetainGrad) {
  Var x = Leaf({1, 2});
  ASSERT_OK(x.RetainGrad());  // Nothing to do.
  EXPECT_FALSE(x.retains_grad());
  Var y = x * 2.0;
  ASSERT_OK(y.RetainGrad());
  ASSERT_OK(y.RetainGrad());
  ASSERT_OK(Retained(Sum(y * y)));
  EXPECT_THAT(GradOf(y), ElementsAre(4, 8));
  ASSERT_OK(Retained(Sum(y * y)));
  EXPECT_THAT(GradOf(y), ElementsAre(8, 16));
  EXPECT_THAT(Constant(1).RetainGrad(), IsError(ErrorCode::kTapeNeedsNoGrad));
  Var z;
  {
    Var retained = x * 3.0;
    ASSERT_OK(retained.RetainGrad());
    z = Sum(retained);
  }
  Var(x).ClearGrad();
  ASSERT_OK(z.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(3, 3));
}

TEST_F(TapeHistoryTest, E07AfterAccumulation) {
  Var x = Leaf({1, 2});
  std::vector<float> seen;
  ASSERT_OK(x.AddAccumulateHook([&](Var leaf) {
               seen = GradOf(leaf);
               leaf.ClearGrad();
               return absl::OkStatus();
             }).status());
  ASSERT_OK(Sum(x * 2.0).Backward());
  EXPECT_THAT(seen, ElementsAre(2, 2));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_THAT((x * 2.0).AddAccumulateHook([](Var) { return absl::OkStatus(); }),
              IsError(ErrorCode::kTapeNeedsNoGrad, "only leaves"));
}

TEST_F(TapeHistoryTest, E08HooksApplyToCapturedGradients) {
  Var x = Leaf({1, 2});
  ASSERT_OK(x.AddHook(Note("x", 10)).status());
  Var y = x * 2.0;
  ASSERT_OK(y.AddHook(Note("y", 3)).status());
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({Sum(y)}, {x, y}));
  EXPECT_THAT(Values(grads[0]), ElementsAre(60, 60));
  EXPECT_THAT(Values(grads[1]), ElementsAre(1, 1));  // Its node runs, so it is captured before the hook, as in PyTorch.
  EXPECT_THAT(calls_, ElementsAre("y", "x"));
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(TapeHistoryTest, E10OrderAtOneNode) {
  const Var x = Leaf(2);
  Var y = x * x;
  ASSERT_OK(y.AddHook(Note("tensor 1")).status());
  ASSERT_OK(y.AddHook(Note("tensor 2")).status());
  NodeRef node = y.grad_fn();
  ASSERT_OK(node.AddPostHook([&](absl::Span<const Var>, absl::Span<const Var>) {
                  calls_.push_back("post");
                  return std::vector<Var>();
                })
                .status());
  ASSERT_OK(node.AddPreHook([&](absl::Span<const Var>) {
                  calls_.push_back("pre");
                  return std::vector<Var>();
                })
                .status());
  ASSERT_OK(Var(x).AddHook(Note("leaf")).status());
  ASSERT_OK(Var(x)
                .AddAccumulateHook([&](Var) {
                  calls_.push_back("accumulated");
                  return absl::OkStatus();
                })
                .status());
  ASSERT_OK(y.Backward());
  EXPECT_THAT(calls_, ElementsAre("tensor 1", "tensor 2", "pre", "post", "leaf", "accumulated"));
}

TEST_F(TapeHistoryTest, F01Versions) {
  Var x = Leaf({1, 2});
  Var y = x * 2.0;
  EXPECT_EQ(y.version(), 0u);
  ASSERT_OK(y.Assign(y + 1.0));
  ASSERT_OK(y.AssignAdd(y));
  EXPECT_EQ(y.version(), 2u);
  const Var other = y;
  EXPECT_EQ(other.version(), 2u);
  // A value of its own: no view.
  Var detached = y.Detach();
  ASSERT_OK(detached.AssignAdd(detached));
  EXPECT_EQ(y.version(), 2u);
}

TEST_F(TapeHistoryTest, F02AChangedSavedValueIsAnError) {
  const Var x = Leaf({1, 2});
  Var y = x * 2.0;
  const Var z = Sum(y * y);
  ASSERT_OK(y.Assign(y + 1.0));
  const absl::Status status = z.Backward();
  EXPECT_THAT(status, IsError(ErrorCode::kTapeModified, "of Mul, float32 [2]"));
  EXPECT_THAT(FormatError(status),
              ::testing::AllOf(::testing::HasSubstr("version 1"), ::testing::HasSubstr("version 0")));
  Var t = Tanh(x);
  const Var u = Sum(t);
  ASSERT_OK(t.Assign(t * 2.0));
  EXPECT_THAT(u.Backward(), IsError(ErrorCode::kTapeModified, "output 0 of Tanh"));
  Var weight = Leaf({3, 4});
  const Var product = Sum(x * weight);
  {
    const NoGradScope no_grad;
    ASSERT_OK(weight.AssignAdd(weight));
  }
  EXPECT_THAT(product.Backward(), IsError(ErrorCode::kTapeModified, "input 1 of Mul"));
}

TEST_F(TapeHistoryTest, F02AnomalyDetectionSaysWhereTheOpWasCalled) {
  const Var x = Leaf({1, 2});
  Var y = x * 2.0, z;
  {
    const AnomalyScope anomaly(/*checks_nan=*/false);
    const PlaceScope place("layer7");
    z = Sum(y * y);
  }
  ASSERT_OK(y.Assign(y + 1.0));
  EXPECT_THAT(std::string(z.Backward().message()), ::testing::HasSubstr("MulBackward was recorded at layer7/Mul"));
}

TEST_F(TapeHistoryTest, F02TheResultOfAnAssignmentFlows) {
  const Var x = Leaf({1, 2});
  Var y = x * 2.0;
  ASSERT_OK(y.Assign(y * 3.0));
  ASSERT_OK(Sum(y * Constant({1, 10})).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(6, 60));
  // The product needs both of its factors, which are the variable that it is assigned to.
  Var z = x * 2.0;
  ASSERT_OK(z.Assign(z * z));
  EXPECT_THAT(Sum(z).Backward(), IsError(ErrorCode::kTapeModified, "modified by an assignment"));
}

TEST_F(TapeHistoryTest, F05LeavesAreAssignedUnderNoGradOnly) {
  Var x = Leaf({1, 2});
  EXPECT_THAT(x.Assign(x * 2.0), IsError(ErrorCode::kTapeLeafAssigned, "cannot be assigned to"));
  EXPECT_THAT(x.AssignAdd(Constant({1, 1})), IsError(ErrorCode::kTapeLeafAssigned));
  EXPECT_EQ(x.version(), 0u);
  const NoGradScope no_grad;
  ASSERT_OK(x.AssignSub(Constant({1, 1})));
  EXPECT_THAT(Values(x), ElementsAre(0, 1));
  EXPECT_TRUE(x.requires_grad());
  EXPECT_TRUE(x.is_leaf());
  EXPECT_THAT(x.Assign(Constant({1, 2, 3})), IsError(ErrorCode::kOpShape, "[3]"));
  EXPECT_THAT(x.Assign(Cast(x, DType::kDouble)), IsError(ErrorCode::kInputType, "float64"));
}

TEST_F(TapeHistoryTest, F06NothingIsRecordedInANoGradScope) {
  const Var x = Leaf({1, 2});
  {
    const NoGradScope no_grad;
    EXPECT_FALSE((x * 2.0).requires_grad());
    {
      const GradModeScope grad(true);
      EXPECT_TRUE((x * 2.0).requires_grad());
    }
    EXPECT_FALSE(IsRecording());
  }
  EXPECT_TRUE((x * 2.0).requires_grad());
  // A pass that fails leaves the mode as it was.
  ASSERT_OK(Var(x).AddHook([](const Var&) { return absl::AbortedError("no"); }).status());
  EXPECT_THAT(Sum(x).Backward(), StatusIs(absl::StatusCode::kAborted, "no"));
  EXPECT_TRUE(IsRecording());
}

TEST_F(TapeHistoryTest, F07DetachedBranchesGiveNothing) {
  const Var x = Leaf({1, 2});
  const Var y = x * x, detached = y.Detach();
  EXPECT_FALSE(detached.requires_grad());
  EXPECT_TRUE(detached.is_leaf());
  ASSERT_OK(Sum(y * detached).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(2 * 1 * 1, 2 * 2 * 4));
}

TEST_F(TapeHistoryTest, GradientsCanBeSet) {
  Var x = Leaf({1, 2});
  ASSERT_OK(x.SetGrad(Constant({5, 6})));
  ASSERT_OK(Sum(x).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(6, 7));
  EXPECT_THAT(x.SetGrad(Constant({1, 2, 3})), IsError(ErrorCode::kOpShape));
}

}  // namespace
}  // namespace sluice

// Leaves whose last handle has gone, and leaves that custom functions have saved.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/tape/grad_mode.h"
#include "gmock/gmock.h"
#include "graph/base/status_macros.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The square of its input, which it saves; `see` gets what comes back.
class SavesInput final : public CustomFunction {
 public:
  using See = std::function<void(Var saved)>;

  explicit SavesInput(See see) : see_(std::move(see)) {}
  std::string name() const override { return "SavesInput"; }
  absl::StatusOr<std::vector<Var>> Forward(FunctionContext& context, absl::Span<const Var> inputs) override {
    context.SaveForBackward({inputs[0]});
    return std::vector<Var>{inputs[0] * inputs[0]};
  }
  absl::StatusOr<std::vector<Var>> Backward(FunctionContext& context, absl::Span<const Var> grads) override {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Var> saved, context.Saved());
    see_(saved[0]);
    return std::vector<Var>{grads[0] * 2.0 * saved[0]};
  }

 private:
  const See see_;
};

class LeftLeafTest : public TapeFixture {
 protected:
  Var Square(const Var& x, SavesInput::See see) {
    return tape_.Apply(std::make_shared<SavesInput>(std::move(see)), {x})[0];
  }
};

// --- What passes add -------------------------------------------------------------------------------------------------

// One thread's pass lets the leaf go while another's looks for it.
TEST_F(LeftLeafTest, PassesOfSeveralThreadsLoseNothing) {
  constexpr int kThreads = 2, kPasses = 3000;
  std::atomic<int64_t> taken{0}, calls{0};
  Var y;
  {
    Var x = Leaf(1);
    ASSERT_OK(x.AddAccumulateHook([&](Var leaf) {
                 ++calls;
                 const Var grad = leaf.TakeGrad();
                 if (grad.defined()) taken += static_cast<int64_t>(grad.value().flat<float>()[0]);
                 return absl::OkStatus();
               }).status());
    y = Sum(x * 2.0);
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kPasses; ++i) EXPECT_OK(Retained(y));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, kThreads * kPasses);
  EXPECT_EQ(taken, 2 * kThreads * kPasses);
}

// The same without hooks: whoever holds the gradient sees all of it.
TEST_F(LeftLeafTest, PassesOfSeveralThreadsLoseNothingOfAHeldGradient) {
  constexpr int kThreads = 2, kPasses = 3000;
  Var y, grad;
  {
    const Var x = Leaf(1);
    y = Sum(x * 2.0);
    ASSERT_OK(Retained(y));
    grad = x.grad();
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kPasses; ++i) EXPECT_OK(Retained(y));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Values(grad), ElementsAre(2 + 2 * kThreads * kPasses));
}

TEST_F(LeftLeafTest, NothingIsAllocatedWhereAHandleEnds) {
  for (const bool create_graph : {false, true}) {
    Var x = Leaf(3);
    const Var y = x * x;
    ASSERT_OK(Backward(y, Var(), /*retain_graph=*/true, create_graph));
    const Var grad = x.grad();
    EXPECT_EQ(grad.requires_grad(), create_graph);
    const int64_t before = NewCalls();
    x = Var();
    EXPECT_EQ(NewCalls(), before);
    ASSERT_OK(Backward(y, Var(), /*retain_graph=*/true));
    // A pass that is not recorded adds in place, also to what a recorded one has left.
    EXPECT_THAT(Values(grad), ElementsAre(12));
  }
}

TEST_F(LeftLeafTest, WhatNobodySeesAnyMoreIsFreedWithItsHook) {
  const Tensor value = Tensor::Vector<float>(std::vector<float>(1000, 1.0f));
  Var x = tape_.Leaf(value);
  ASSERT_OK_AND_ASSIGN(HookHandle hook, x.AddAccumulateHook([](Var) { return absl::OkStatus(); }));
  const Var y = Sum(x + 1.0);
  x = Var();
  EXPECT_FALSE(value.IsUniquelyOwned());
  ASSERT_OK(Retained(y));
  EXPECT_FALSE(value.IsUniquelyOwned());
  hook.Remove();
  EXPECT_TRUE(value.IsUniquelyOwned());
  // Nor do passes go node by node for its sake.
  const int64_t known = tape_.NumPassesOfKnownStructure();
  for (int i = 0; i < 4; ++i) ASSERT_OK(Retained(y));
  EXPECT_GT(tape_.NumPassesOfKnownStructure(), known);
}

TEST_F(LeftLeafTest, WhatSomebodySeesOutlivesAHook) {
  Var x = Leaf({1, 2});
  const Var y = Sum(x * 2.0);
  ASSERT_OK(Retained(y));
  const Var grad = x.grad();
  ASSERT_OK_AND_ASSIGN(HookHandle hook, x.AddAccumulateHook([](Var) { return absl::OkStatus(); }));
  x = Var();
  hook.Remove();
  ASSERT_OK(Retained(y));
  EXPECT_THAT(Values(grad), ElementsAre(4, 4));
}

// --- Saved leaves: what PyTorch 2.15 prints --------------------------------------------------------------------------

TEST_F(LeftLeafTest, ASavedLeafComesBackItself) {
  Var w = Leaf(3);
  int calls = 0;
  const Var y = Square(w, [&](Var saved) {
    ++calls;
    EXPECT_TRUE(SameVar(saved, w));
    EXPECT_TRUE(saved.is_leaf());
    EXPECT_OK(saved.SetGrad(Constant(10)));
    EXPECT_THAT(GradOf(w), ElementsAre(10));
  });
  ASSERT_OK(Retained(y));
  EXPECT_THAT(GradOf(w), ElementsAre(16));
  ASSERT_OK(Backward(y, Var(), true, /*create_graph=*/true));
  EXPECT_THAT(GradOf(w), ElementsAre(16));
  EXPECT_EQ(calls, 2);
}

TEST_F(LeftLeafTest, ASavedConstantComesBackItself) {
  const Var c = Constant(3);
  const auto check = [&](Var saved) { EXPECT_TRUE(SameVar(saved, c)); };
  class SavesSecond final : public CustomFunction {
   public:
    explicit SavesSecond(SavesInput::See see) : see_(std::move(see)) {}
    std::string name() const override { return "SavesSecond"; }
    absl::StatusOr<std::vector<Var>> Forward(FunctionContext& context, absl::Span<const Var> in) override {
      context.SaveForBackward({in[1], Var()});
      return std::vector<Var>{in[0] * in[1]};
    }
    absl::StatusOr<std::vector<Var>> Backward(FunctionContext& context, absl::Span<const Var> grads) override {
      SLUICE_ASSIGN_OR_RETURN(const std::vector<Var> saved, context.Saved());
      EXPECT_FALSE(saved[1].defined());
      see_(saved[0]);
      return std::vector<Var>{grads[0] * saved[0], Var()};
    }

   private:
    const SavesInput::See see_;
  };
  const Var x = Leaf(2);
  ASSERT_OK(tape_.Apply(std::make_shared<SavesSecond>(check), {x, c})[0].Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(3));
  // One that has gone has its value all the same.
  const auto reads = [&](Var saved) { EXPECT_THAT(Values(saved), ElementsAre(5)); };
  ASSERT_OK(tape_.Apply(std::make_shared<SavesSecond>(reads), {x, Constant(5)})[0].Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(8));
}

TEST_F(LeftLeafTest, ASavedLeafIsWhatItIsNowAlsoWithoutHandles) {
  Var w = Leaf(3);
  std::vector<bool> requires_grad, is_leaf;
  std::vector<std::vector<float>> grads;
  const Var y = Square(w, [&](Var saved) {
    requires_grad.push_back(saved.requires_grad());
    is_leaf.push_back(saved.is_leaf());
    grads.push_back(GradOf(saved));
    EXPECT_OK(saved.SetGrad(Constant(10)));
  });
  ASSERT_OK(Retained(y));
  ASSERT_OK(w.SetRequiresGrad(false));
  ASSERT_OK(Retained(y));
  ASSERT_OK(w.SetRequiresGrad(true));
  w = Var();
  ASSERT_OK(Retained(y));
  ASSERT_OK(Retained(y));
  EXPECT_THAT(requires_grad, ElementsAre(true, false, true, true));
  EXPECT_THAT(is_leaf, ElementsAre(true, true, true, true));
  EXPECT_THAT(grads, ElementsAre(IsEmpty(), ElementsAre(16), ElementsAre(10), ElementsAre(16)));
}

TEST_F(LeftLeafTest, AFrozenLeafWithoutHandlesStaysFrozen) {
  Var w = Leaf(3);
  std::vector<bool> requires_grad;
  const Var y = Square(w, [&](Var saved) { requires_grad.push_back(saved.requires_grad()); });
  const Var x = Leaf(2);
  const Var of_op = x * w;
  ASSERT_OK(w.SetRequiresGrad(false));
  w = Var();
  ASSERT_OK(Retained(y));
  EXPECT_THAT(requires_grad, ElementsAre(false));
  const Var dx = Derivative(of_op, x);
  EXPECT_THAT(Values(dx), ElementsAre(3));
  EXPECT_FALSE(dx.requires_grad());
}

// The record of a saved leaf keeps nothing alive, also where the leaf's gradient leads to it.
TEST_F(LeftLeafTest, SavedLeavesLeaveNothingBehind) {
  const auto run = [&] {
    Var w = Leaf(3);
    Var y = Square(w, [](Var) {});
    ASSERT_OK(Backward(y, Var(), true, /*create_graph=*/true));
    ASSERT_OK(Retained(w.grad()));
    w = Var();
    ASSERT_OK(Retained(y));
  };
  for (int i = 0; i < 3; ++i) run();
  const int64_t bytes = LiveNewBytes();
  for (int i = 0; i < 10; ++i) run();
  EXPECT_EQ(LiveNewBytes(), bytes);
}

}  // namespace
}  // namespace sluice

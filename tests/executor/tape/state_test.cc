// What passes, assignments and hooks leave behind in variables, also after errors: more of groups C, E, F and G of
// reference/pytorch-autograd.md, 4.

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Vars = std::vector<Var>;

// A custom function that assigns to its inputs as it is told.
class Assigning final : public CustomFunction {
 public:
  struct What {
    bool gives_inputs = true;
    bool saves = false;
  };
  explicit Assigning(What what) : what_(what) {}
  std::string name() const override { return "Assigning"; }
  absl::StatusOr<Vars> Forward(FunctionContext& c, absl::Span<const Var> inputs) override {
    Vars outputs;
    for (const Var& input : inputs) {
      Var v = input;
      c.MarkDirty(v);
      EXPECT_OK(v.Assign(v * 2.0));
      outputs.push_back(what_.gives_inputs ? v : v * 1.0);
    }
    if (what_.saves) c.SaveForBackward({inputs[0]});
    return outputs;
  }
  absl::StatusOr<Vars> Backward(FunctionContext&, absl::Span<const Var> grads) override {
    return Vars(grads.begin(), grads.end());
  }

 private:
  const What what_;
};

// The identity, also of gradients.
class Identity final : public CustomFunction {
 public:
  explicit Identity(Var gives = Var()) : gives_(std::move(gives)) {}
  std::string name() const override { return "Identity"; }
  absl::StatusOr<Vars> Forward(FunctionContext&, absl::Span<const Var> inputs) override {
    return Vars{inputs[0] * 1.0};
  }
  absl::StatusOr<Vars> Backward(FunctionContext&, absl::Span<const Var> grads) override {
    return Vars{gives_.defined() ? gives_ : grads[0]};
  }

 private:
  const Var gives_;
};

// The identity, which shows what it is given.
class Watched final : public CustomFunction {
 public:
  using Watch = std::function<void(const Var&)>;
  explicit Watched(Watch watch) : watch_(std::move(watch)) {}
  std::string name() const override { return "Watched"; }
  absl::StatusOr<Vars> Forward(FunctionContext&, absl::Span<const Var> inputs) override {
    watch_(inputs[0]);
    return Vars{inputs[0] * 1.0};
  }
  absl::StatusOr<Vars> Backward(FunctionContext&, absl::Span<const Var> grads) override {
    watch_(grads[0]);
    return Vars{grads[0]};
  }

 private:
  const Watch watch_;
};

class TapeStateTest : public TapeFixture {
 protected:
  GradHook Note(std::string name) {
    return [this, name = std::move(name)](const Var&) {
      calls_.push_back(name);
      return Var();
    };
  }

  std::vector<std::string> calls_;
};

// --- Gradients of leaves ---------------------------------------------------------------------------------------------

TEST_F(TapeStateTest, AGradientSurvivesPassesThatAreCancelled) {
  const std::vector<float> ones(1 << 20, 1.0f);
  Var x = Leaf(ones);
  const Var w = Constant(ones);
  ASSERT_OK(Backward(x * w, w));
  CancellationManager cancellation;
  ASSERT_OK(x.AddHook([&](const Var&) {
               cancellation.StartCancel();
               return Var();
             }).status());
  BackwardOptions options;
  options.cancellation = &cancellation;
  // The pass has got so far that it adds, and then it adds all.
  EXPECT_OK(tape_.Backward({x * w}, {w}, options));
  EXPECT_THAT(GradOf(x), Each(2));
  EXPECT_THAT(tape_.Backward({x * w}, {w}, options), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(GradOf(x), Each(2));
}

TEST_F(TapeStateTest, C02TheGradientOfALeafStaysOneVariable) {
  const Var x = Leaf({1, 2});
  ASSERT_OK(Sum(x * x).Backward());
  const Var grad = x.grad();
  ASSERT_OK(Sum(x).Backward());
  EXPECT_TRUE(SameVar(grad, x.grad()));
  // A gather's gradient has rows in PyTorch's terms; here it is dense, and added like all others.
  const Var rows = CallOp(
      "GatherV2", {x, ConstantLike(x, Tensor::Vector<int32_t>({1})), ConstantLike(x, Tensor::Scalar<int32_t>(0))});
  ASSERT_OK(Sum(rows).Backward());
  EXPECT_TRUE(SameVar(grad, x.grad()));
  EXPECT_THAT(Values(grad), ElementsAre(3, 6));
}

TEST_F(TapeStateTest, PassesThatAreNotRecordedLeaveNoHistory) {
  const Var w = Leaf(2);
  for (int i = 0; i < 3; ++i) {  // Op by op, then as a graph.
    const Var x = Leaf(1), seed = w * 1.0;
    ASSERT_OK(tape_.Backward({x}, {seed}));
    EXPECT_FALSE(x.grad().requires_grad());
    const Var y = x * 3.0;
    ASSERT_OK_AND_ASSIGN(const Vars captured, tape_.Grad({y}, {y}, {seed}));
    EXPECT_FALSE(captured[0].requires_grad());
    const Var z = tape_.Apply(std::make_shared<Identity>(w), {x})[0];
    Var(x).ClearGrad();
    ASSERT_OK(z.Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(2));
    EXPECT_FALSE(x.grad().requires_grad());
  }
  const Var x = Leaf(1);
  ASSERT_OK(Backward(x, w * 1.0, true, /*create_graph=*/true));
  EXPECT_TRUE(x.grad().requires_grad());
}

TEST_F(TapeStateTest, SeedsOfOneRootAreAddedAsThePassRecords) {
  const Var x = Leaf(1), w = Leaf(2);
  GradOptions options;
  options.create_graph = true;
  const Var y = x * 3.0;
  const absl::StatusOr<Vars> grads = [&] {
    const Vars seeds = {w * 1.0, w * 2.0};
    const NoGradScope no_grad;
    return tape_.Grad({y, y}, {x}, seeds, options);
  }();
  ASSERT_OK(grads.status());
  EXPECT_THAT(Values((*grads)[0]), ElementsAre(18));
  ASSERT_OK_AND_ASSIGN(const Vars second, tape_.Grad({(*grads)[0]}, {w}));
  EXPECT_THAT(Values(second[0]), ElementsAre(9));
}

TEST_F(TapeStateTest, NoVariableIsItsOwnGradient) {
  Var x = Leaf(1);
  EXPECT_THAT(x.SetGrad(x), IsError(ErrorCode::kWrongUse, "its own gradient"));
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(TapeStateTest, A01ComplexRootsTakeComplexGradients) {
  using Complex = std::complex<float>;
  const Var z = tape_.Leaf(Tensor::Scalar(Complex(1, 1))), one = Constant(1);
  EXPECT_THAT((z * z).Backward(), IsError(ErrorCode::kTapeRoot, "only for real outputs"));
  EXPECT_THAT(Backward(z * z, one), IsError(ErrorCode::kInputType, "both be complex"));
  EXPECT_THAT(Backward(Leaf(1) * 2.0, z.Detach()), IsError(ErrorCode::kInputType, "both be complex"));
  EXPECT_OK(Backward(z * z, tape_.Constant(Tensor::Scalar(Complex(1, 0)))));
}

// --- Leaves that are frozen, and roots -------------------------------------------------------------------------------

TEST_F(TapeStateTest, ALeafMayBeFrozenForAWhile) {
  Var x = Leaf(1);
  ASSERT_OK_AND_ASSIGN(HookHandle hook, x.AddHook(Note("x")));
  const Var y = x * 2.0;
  ASSERT_OK(x.SetRequiresGrad(false));
  EXPECT_FALSE((x * 5.0).requires_grad());
  ASSERT_OK(x.SetRequiresGrad(true));
  const Var z = x * 3.0;
  ASSERT_OK_AND_ASSIGN(const Vars grads, tape_.Grad({y + z}, {x}));
  EXPECT_THAT(Values(grads[0]), ElementsAre(5));
  EXPECT_THAT(calls_, ElementsAre("x"));
  EXPECT_TRUE(hook.is_added());
  hook.Remove();
  EXPECT_FALSE(hook.is_added());
}

TEST_F(TapeStateTest, E07AFrozenLeafGetsNothingAndItsHookIsCalled) {
  Var x = Leaf(1);
  int calls = 0;
  ASSERT_OK(x.AddAccumulateHook([&](Var leaf) {
               ++calls;
               EXPECT_FALSE(leaf.grad().defined());
               return absl::OkStatus();
             }).status());
  const Var y = x * 2.0;
  ASSERT_OK(x.SetRequiresGrad(false));
  ASSERT_OK(y.Backward());
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(calls, 1);  // As PyTorch 2.15 does.
}

TEST_F(TapeStateTest, ALeafThatHasBecomeAComputedVariableIsAnError) {
  Var x = Leaf(1), z = Leaf(3);
  const Var y = x * 2.0;
  ASSERT_OK(x.SetRequiresGrad(false));
  ASSERT_OK(x.Assign(z * 1.0));
  EXPECT_THAT(Retained(y), IsError(ErrorCode::kTapeLeafAssigned, "assigned a computed value"));
  EXPECT_FALSE(x.grad().defined());
  // As in PyTorch 2.15 also when nobody has it any more.
  x = Var();
  EXPECT_THAT(y.Backward(), IsError(ErrorCode::kTapeLeafAssigned, "assigned a computed value"));
}

TEST_F(TapeStateTest, A11ALeafAsRootRunsFirst) {
  Var x = Leaf(1), a = Leaf(1), b = Leaf(1);
  ASSERT_OK(x.AddHook(Note("x")).status());
  ASSERT_OK(a.AddHook(Note("a")).status());
  ASSERT_OK(b.AddHook(Note("b")).status());
  ASSERT_OK(tape_.Backward({x * x, a, b}));
  EXPECT_THAT(calls_, ElementsAre("a", "b", "x"));
  ASSERT_OK(x.AddHook([](const Var&) { return absl::AbortedError("no"); }).status());
  EXPECT_THAT(tape_.Backward({x * x, a}), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(GradOf(a), ElementsAre(2));
}

TEST_F(TapeStateTest, B06ABadInputLeavesTheOthersAsTheyWere) {
  const Var x = Leaf(1), y = x * 2.0;
  BackwardOptions options;
  options.inputs = Vars{y, Constant(1)};
  EXPECT_THAT(tape_.Backward({y * 3.0}, {}, options), IsError(ErrorCode::kTapeNeedsNoGrad, "input 1"));
  EXPECT_FALSE(y.retains_grad());
}

TEST_F(TapeStateTest, G09ARowThatRefusesDoesSoBeforeAnythingRuns) {
  Var x = Leaf(1);
  const Var guarded = tape_.Op("PreventGradient", {x * 1.0}, {{"message", "not this way"}})[0];
  Var y = guarded * 2.0;
  ASSERT_OK(y.AddHook(Note("y")).status());
  const Var a = Leaf(1);
  EXPECT_THAT(tape_.Backward({y, a}), IsError(ErrorCode::kTapeNoDerivative, "PreventGradient"));
  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_FALSE(a.grad().defined());
}

// --- Assignments -----------------------------------------------------------------------------------------------------

TEST_F(TapeStateTest, AnAssignedVariableIsAnotherThanItsSource) {
  const Var x = Leaf(1);
  Var y = x * 1.0, a = Constant(0);
  ASSERT_OK(y.RetainGrad());
  ASSERT_OK(y.AddHook(Note("y")).status());
  ASSERT_OK(a.Assign(y));
  ASSERT_OK(a.RetainGrad());
  ASSERT_OK(a.AddHook(Note("a")).status());
  const Var z = a * 3.0 + y * 5.0;
  GradOptions retain;
  retain.retain_graph = true;
  ASSERT_OK_AND_ASSIGN(const Vars grads, tape_.Grad({z}, {a, y}, {}, retain));
  EXPECT_THAT(Values(grads[0]), ElementsAre(3));
  EXPECT_THAT(Values(grads[1]), ElementsAre(8));
  EXPECT_TRUE(y.retains_grad());
  y.ClearGrad();
  a.ClearGrad();
  calls_.clear();
  ASSERT_OK(z.Backward());
  EXPECT_THAT(GradOf(a), ElementsAre(3));
  EXPECT_THAT(GradOf(y), ElementsAre(8));
  EXPECT_THAT(GradOf(x), ElementsAre(8));
  EXPECT_THAT(calls_, ElementsAre("a", "y"));
}

TEST_F(TapeStateTest, OneThatIsTakenOverMayBeALeafOrShared) {
  const Var x = Leaf(2);
  Var a = Constant(0), b = Constant(0);
  ASSERT_OK(a.Assign(Var(x)));
  EXPECT_FALSE(a.is_leaf());
  Var y = x * 3.0;
  const Var same = y;
  ASSERT_OK(b.Assign(std::move(y)));
  EXPECT_FALSE(b.grad_fn() == same.grad_fn());
  ASSERT_OK((a * b + same).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(2 * 6 + 3));
}

TEST_F(TapeStateTest, E06RetainedGradientsAfterAssignments) {
  const Var x = Leaf(1);
  Var y = x * 1.0;
  ASSERT_OK(y.RetainGrad());
  ASSERT_OK(y.Assign(y * 3.0));
  ASSERT_OK((y * 5.0).Backward());
  EXPECT_THAT(GradOf(y), ElementsAre(5));
  EXPECT_THAT(GradOf(x), ElementsAre(15));
}

TEST_F(TapeStateTest, ValuesOfAnotherTapeAreRefused) {
  Tape other;
  const Var b = other.Leaf(Tensor::Scalar(1.0f)), c = b * b;
  Var v = Constant(0), x = Leaf(2);
  EXPECT_THAT(v.Assign(c), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_THAT(v.Assign(b * 1.0), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_THAT(x.SetGrad(c), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_THAT(Backward(x * 2.0, c), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_THAT(other.Op("Neg", {x})[0].status(), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_THAT(tape_.Apply(nullptr, {x})[0].status(), IsError(ErrorCode::kTapeFunction, "no function"));
  const Var custom = tape_.Apply(std::make_shared<Identity>(c), {x})[0];
  EXPECT_THAT(custom.Backward(), IsError(ErrorCode::kTapeForeign, "another tape"));
  Var y = x * 1.0;
  ASSERT_OK(y.AddHook([&](const Var&) { return c; }).status());
  EXPECT_THAT(Retained(y), IsError(ErrorCode::kTapeForeign, "another tape"));
  Var z = x * 1.0;
  ASSERT_OK(z.grad_fn().AddPreHook([&](absl::Span<const Var>) { return Vars{c}; }).status());
  EXPECT_THAT(z.Backward(), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_FALSE(x.grad().defined());
}

// --- Custom functions ------------------------------------------------------------------------------------------------

TEST_F(TapeStateTest, G05WhatIsDirtyMustBeReturned) {
  const Var x = Leaf(1);
  const Var y = x * 1.0;
  const Vars out = tape_.Apply(std::make_shared<Assigning>(Assigning::What{/*gives_inputs=*/false, false}), {y});
  EXPECT_THAT(out[0].status(), IsError(ErrorCode::kTapeFunction, "marks as dirty"));
}

TEST_F(TapeStateTest, G05ACallThatFailsLeavesHistoriesAlone) {
  const Var leaf = Leaf(2);
  const auto call = [&] {
    const Var x = Leaf(1);
    const Var a = x * 1.0;
    const NodeRef before = a.grad_fn();
    const Vars out = tape_.Apply(std::make_shared<Assigning>(Assigning::What{true, /*saves=*/true}), {a, leaf});
    EXPECT_THAT(out[0].status(), IsError(ErrorCode::kTapeLeafAssigned, "output 1 a leaf"));
    EXPECT_TRUE(a.grad_fn() == before);
  };
  call();
  const int64_t bytes = LiveNewBytes();
  for (int i = 0; i < 10; ++i) call();
  EXPECT_EQ(LiveNewBytes(), bytes);
}

TEST_F(TapeStateTest, F06NothingIsRecordedInsideCustomFunctions) {
  const Var x = Leaf(2);
  std::vector<bool> records;
  const auto watch = [&](const Var& seen) { records.push_back(IsRecording() || (seen * 2.0).requires_grad()); };
  const Var y = tape_.Apply(std::make_shared<Watched>(watch), {x})[0];
  EXPECT_TRUE(y.requires_grad());
  ASSERT_OK(Retained(y));
  EXPECT_THAT(records, ElementsAre(false, false));
  EXPECT_TRUE(Derivative(y * y, x).requires_grad());
  EXPECT_THAT(records, ElementsAre(false, false, true));
  const NoGradScope no_grad;
  EXPECT_FALSE(tape_.Apply(std::make_shared<Watched>(watch), {x})[0].requires_grad());
}

TEST_F(TapeStateTest, G08IntegersBecomeNumbersOfTheInputsType) {
  const Var x = Leaf(2), seven = tape_.Constant(Tensor::Scalar<int32_t>(7));
  ASSERT_OK(tape_.Apply(std::make_shared<Identity>(seven), {x})[0].Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(7));
}

TEST_F(TapeStateTest, H06MemoryIsFreedBehindAnErrorOfAParent) {
  const auto fail = [&] {
    const Var x = Leaf(std::vector<float>(1000, 1.0f));
    Var y = x * x;
    EXPECT_OK(y.AddHook([](const Var&) { return absl::AbortedError("no"); }).status());
    EXPECT_THAT(Sum(Tanh(y) * y).Backward(), StatusIs(absl::StatusCode::kAborted));
  };
  for (int i = 0; i < 3; ++i) fail();
  const int64_t bytes = LiveNewBytes();
  for (int i = 0; i < 10; ++i) fail();
  EXPECT_EQ(LiveNewBytes(), bytes);
}

TEST_F(TapeStateTest, IntegersTakeWholeNumbersOnly) {
  const Var n = tape_.Constant(Tensor::Scalar<int32_t>(3));
  EXPECT_OK((n * 2.0).status());
  EXPECT_THAT((n * 0.5).status(), IsError(ErrorCode::kInputType, "0.5"));
  EXPECT_THAT((n + 1e20).status(), IsError(ErrorCode::kInputType));
}

// --- Hooks -----------------------------------------------------------------------------------------------------------

TEST_F(TapeStateTest, E10PostHooksOfALeafComeLast) {
  Var x = Leaf(1);
  ASSERT_OK(x.AddAccumulateHook([&](Var) {
               calls_.push_back("accumulated");
               return absl::OkStatus();
             }).status());
  ASSERT_OK(x.accumulator()
                .AddPostHook([&](absl::Span<const Var> inputs, absl::Span<const Var> outputs) {
                  EXPECT_EQ(inputs.size(), 0u);
                  EXPECT_THAT(Values(outputs[0]), ElementsAre(2));
                  calls_.push_back("post");
                  return Vars();
                })
                .status());
  ASSERT_OK((x * 2.0).Backward());
  EXPECT_THAT(calls_, ElementsAre("accumulated", "post"));
  EXPECT_THAT(GradOf(x), ElementsAre(2));
}

TEST_F(TapeStateTest, ALeafWithoutHooksAnyMoreIsPlainAgain) {
  Var x = Leaf(1);
  ASSERT_OK_AND_ASSIGN(HookHandle hook, x.AddHook(Note("x")));
  ASSERT_OK((x * 2.0).Backward());
  hook.Remove();
  for (int i = 0; i < 3; ++i) ASSERT_OK((x * 2.0).Backward());
  EXPECT_GT(tape_.NumPassesOfKnownStructure(), 0);
  EXPECT_THAT(calls_, ElementsAre("x"));
}

TEST_F(TapeStateTest, AHookIsFreedWithoutALock) {
  Var y = Leaf(1) * 2.0;
  const auto hook = [](std::shared_ptr<void> held) { return [held = std::move(held)](const Var&) { return Var(); }; };
  std::shared_ptr<void> held(nullptr, [&](void*) { calls_.push_back(y.retains_grad() ? "retains" : "ends"); });
  ASSERT_OK_AND_ASSIGN(HookHandle handle, y.AddHook(hook(std::move(held))));
  handle.Remove();
  EXPECT_THAT(calls_, ElementsAre("ends"));
}

}  // namespace
}  // namespace sluice

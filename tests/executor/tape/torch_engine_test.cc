// What PyTorch 2.15 answers in corners of its engine: which hooks run, in which order, and what they see. Each expected
// value was printed by the same program in PyTorch.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/tape/grad_mode.h"
#include "executor/tape/shape_ops.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

using Vars = std::vector<Var>;

// The identity, whose gradient is undefined.
class GivesNothing final : public CustomFunction {
 public:
  std::string name() const override { return "GivesNothing"; }
  absl::StatusOr<Vars> Forward(FunctionContext&, absl::Span<const Var> in) override { return Vars{in[0] * 1.0}; }
  absl::StatusOr<Vars> Backward(FunctionContext&, absl::Span<const Var>) override { return Vars{Var()}; }
};

// Doubles its input in place.
class DoublesInPlace final : public CustomFunction {
 public:
  std::string name() const override { return "DoublesInPlace"; }
  absl::StatusOr<Vars> Forward(FunctionContext& c, absl::Span<const Var> in) override {
    Var v = in[0];
    c.MarkDirty(v);
    SLUICE_RETURN_IF_ERROR(v.Assign(v * 2.0));
    return Vars{v};
  }
  absl::StatusOr<Vars> Backward(FunctionContext&, absl::Span<const Var> grads) override { return Vars{grads[0] * 2.0}; }
};

// x y; its gradients are 2 and 5 times that of the output. Counts its calls.
class TwoAndFive final : public CustomFunction {
 public:
  explicit TwoAndFive(int* calls) : calls_(calls) {}
  std::string name() const override { return "TwoAndFive"; }
  absl::StatusOr<Vars> Forward(FunctionContext& c, absl::Span<const Var> in) override {
    c.SaveForBackward({in[0]});
    return Vars{in[0] * in[1]};
  }
  absl::StatusOr<Vars> Backward(FunctionContext& c, absl::Span<const Var> grads) override {
    ++*calls_;
    SLUICE_RETURN_IF_ERROR(c.Saved().status());
    return Vars{grads[0] * 2.0, grads[0] * 5.0};
  }

 private:
  int* const calls_;
};

class TorchEngineTest : public TapeFixture {
 protected:
  // Notes that it was called; multiplies where `factor` is not zero.
  GradHook Note(std::string name, double factor = 0) {
    return [this, name = std::move(name), factor](const Var& grad) {
      called_.push_back(name + " " + std::to_string(static_cast<int>(Values(grad)[0])));
      return factor == 0 ? Var() : grad * factor;
    };
  }
  AccumulateHook NoteAccumulated() {
    return [this](const Var& leaf) {
      called_.push_back(leaf.grad().defined() ? "accumulated" : "nothing accumulated");
      return absl::OkStatus();
    };
  }

  std::vector<std::string> called_;
};

TEST_F(TorchEngineTest, ACapturesOfNodesThatRunComeBeforeTheirHooks) {
  const Var x = Leaf(2);
  Var y = x * 2.0;
  ASSERT_OK(y.AddHook(Note("y", 10)).status());
  const Var z = y * 3.0;
  GradOptions options;
  options.retain_graph = true;
  ASSERT_OK_AND_ASSIGN(const Vars both, tape_.Grad({z}, {x, y}, {}, options));
  EXPECT_THAT(Values(both[0]), ElementsAre(60));
  EXPECT_THAT(Values(both[1]), ElementsAre(3));
  ASSERT_OK_AND_ASSIGN(const Vars one, tape_.Grad({z}, {y}));
  EXPECT_THAT(Values(one[0]), ElementsAre(30));
  EXPECT_THAT(called_, ElementsAre("y 3", "y 3"));
}

TEST_F(TorchEngineTest, BTheNodesOfInputsOfBackwardRun) {
  const Var x = Leaf(2), c = Leaf(3);
  int calls = 0;
  const Var y = tape_.Apply(std::make_shared<TwoAndFive>(&calls), {x, c})[0];
  const Var e = Exp(x);
  BackwardOptions options;
  options.inputs = Vars{y, e};
  ASSERT_OK(tape_.Backward({y * 2.0 + e}, {}, options));
  EXPECT_THAT(GradOf(y), ElementsAre(2));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(y.Backward(), IsError(ErrorCode::kTapeFreed, "second time"));
  EXPECT_THAT(e.Backward(), IsError(ErrorCode::kTapeFreed, "second time"));
}

TEST_F(TorchEngineTest, EOutputsWithoutGradientHaveZeros) {
  class Marks final : public CustomFunction {
   public:
    std::string name() const override { return "Marks"; }
    absl::StatusOr<Vars> Forward(FunctionContext& c, absl::Span<const Var> in) override {
      const Var a = in[0] * 2.0, i = Cast(in[0], DType::kInt64);
      c.MarkNonDifferentiable(a);
      return Vars{a, in[0] + 1.0, i, Var()};
    }
    absl::StatusOr<Vars> Backward(FunctionContext&, absl::Span<const Var> grads) override {
      EXPECT_EQ(Values(grads[0]), std::vector<float>({0, 0}));
      EXPECT_EQ(grads[2].dtype(), DType::kInt64);
      EXPECT_EQ(grads[2].shape(), Shape::Of({2}));
      EXPECT_FALSE(grads[3].defined());
      return Vars{grads[1]};
    }
  };
  const Var x = Leaf({-1, 2});
  ASSERT_OK(Sum(tape_.Apply(std::make_shared<Marks>(), {x})[1]).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(1, 1));
}

TEST_F(TorchEngineTest, HooksAreCalledWithoutAGradient) {
  std::vector<std::string> seen;
  const auto note = [&seen](std::string name) {
    return [&seen, name = std::move(name)](const Var& grad) {
      seen.push_back(name + (grad.defined() ? " defined" : " undefined"));
      return Var();
    };
  };
  Vars parts = Unstack(Leaf({1, 2}) * 2.0);
  ASSERT_OK(parts[1].AddHook(note("b")).status());
  ASSERT_OK(parts[0].AddHook(note("a")).status());
  ASSERT_OK(parts[1].RetainGrad());
  ASSERT_OK(parts[0].Backward());
  EXPECT_FALSE(parts[1].grad().defined());
  Var x = Leaf(2), y = x * 3.0;
  ASSERT_OK(x.AddHook(note("x")).status());
  ASSERT_OK(y.AddHook(note("y")).status());
  const Var z = tape_.Apply(std::make_shared<GivesNothing>(), {y})[0];
  ASSERT_OK(Retained(z));
  EXPECT_THAT(seen, ElementsAre("b undefined", "a defined", "y undefined", "x undefined"));
  ASSERT_OK(y.AddHook([this](const Var&) { return Constant(5); }).status());
  EXPECT_THAT(z.Backward(), IsError(ErrorCode::kTapeHook, "where there was none"));
}

class LostLeafTest : public TorchEngineTest {
 protected:
  // 3 x x, whose leaf no handle has any more; its hooks note what they see, and `step` changes the leaf.
  Var LoseLeaf(bool is_frozen, bool has_step) {
    Var x = Leaf(2);
    EXPECT_OK(x.AddAccumulateHook([this, has_step](Var leaf) {
                 called_.push_back(absl::StrCat("leaf ", Values(leaf)[0], " ",
                                                leaf.grad().defined() ? absl::StrCat(GradOf(leaf)[0]) : "none", " ",
                                                leaf.requires_grad()));
                 const NoGradScope no_grad;
                 return has_step ? leaf.AssignSub(leaf.grad() * 0.5) : absl::OkStatus();
               }).status());
    EXPECT_OK(x.AddHook(Note("grad")).status());
    const Var y = x * x * 3.0;
    EXPECT_OK(x.SetRequiresGrad(!is_frozen));
    return y;
  }
};

TEST_F(LostLeafTest, IItsAccumulateHooksSeeItAndItsSum) {
  const Var y = LoseLeaf(/*is_frozen=*/false, /*has_step=*/false);
  for (int i = 0; i < 3; ++i) ASSERT_OK(Retained(y));
  EXPECT_THAT(called_, ElementsAre("grad 12", "leaf 2 12 1", "grad 12", "leaf 2 24 1", "grad 12", "leaf 2 36 1"));
}

TEST_F(LostLeafTest, IItStaysWithoutAGradient) {
  const Var y = LoseLeaf(/*is_frozen=*/true, /*has_step=*/false);
  for (int i = 0; i < 2; ++i) ASSERT_OK(Retained(y));
  EXPECT_THAT(called_, ElementsAre("grad 12", "leaf 2 none 0", "grad 12", "leaf 2 none 0"));
}

TEST_F(LostLeafTest, IWhatAHookDoesToItIsSeen) {
  const Var y = LoseLeaf(/*is_frozen=*/false, /*has_step=*/true);
  ASSERT_OK(Retained(y));
  EXPECT_THAT(Retained(y), IsError(ErrorCode::kTapeModified, "modified by an assignment"));
  EXPECT_THAT(called_, ElementsAre("grad 12", "leaf 2 12 1"));
}

TEST_F(LostLeafTest, IRecordedGradientsDoNotKeepTheRecord) {
  const auto alive = std::make_shared<int>(0);
  {
    Var x = Leaf(2);
    ASSERT_OK(x.AddAccumulateHook([alive](const Var&) { return absl::OkStatus(); }).status());
    const Var y = x * x * 3.0;
    x = Var();
    for (int i = 0; i < 2; ++i) ASSERT_OK(Backward(y, Var(), true, /*create_graph=*/true));
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(LostLeafTest, IAHookMayKeepIt) {
  Var x = Leaf(2), kept;
  ASSERT_OK(x.AddAccumulateHook([&kept](Var leaf) {
               kept = std::move(leaf);
               return absl::OkStatus();
             }).status());
  const Var y = x * 3.0;
  x = Var();
  ASSERT_OK(Retained(y));
  ASSERT_OK(Retained(y));
  EXPECT_THAT(GradOf(kept), ElementsAre(6));
  ASSERT_OK((kept * kept).Backward());
  EXPECT_THAT(GradOf(kept), ElementsAre(10));
}

TEST_F(TorchEngineTest, KRetainGradFollowsADirtyFunction) {
  const Var x = Leaf(2);
  Var y = x * 2.0;
  ASSERT_OK(y.RetainGrad());
  ASSERT_OK(y.AddHook(Note("before")).status());
  ASSERT_OK(tape_.Apply(std::make_shared<DoublesInPlace>(), {y})[0].status());
  ASSERT_OK(y.AddHook(Note("after")).status());
  EXPECT_TRUE(y.retains_grad());
  ASSERT_OK((y * 1.0).Backward());
  EXPECT_THAT(GradOf(y), ElementsAre(1));
  EXPECT_THAT(GradOf(x), ElementsAre(4));
  EXPECT_THAT(called_, ElementsAre("after 1", "before 2"));
}

TEST_F(TorchEngineTest, ADirtyFunctionForgetsTheGradientOfTheValueBefore) {
  Var y = Leaf(2) * 2.0;
  ASSERT_OK(y.RetainGrad());
  ASSERT_OK(Retained(y));
  EXPECT_THAT(GradOf(y), ElementsAre(1));
  ASSERT_OK(tape_.Apply(std::make_shared<DoublesInPlace>(), {y})[0].status());
  EXPECT_FALSE(y.grad().defined());
  EXPECT_TRUE(y.retains_grad());
}

TEST_F(TorchEngineTest, ADirtyLeafIsAnAssignedLeaf) {
  EXPECT_THAT(tape_.Apply(std::make_shared<DoublesInPlace>(), {Leaf(2)})[0].status(),
              IsError(ErrorCode::kTapeLeafAssigned, "a leaf that requires a gradient"));
}

TEST_F(TorchEngineTest, AGradientThatMustBeGivenComesBeforeOtherErrorsOfRoots) {
  const Var none = Constant(1), x = Leaf({1, 2});
  EXPECT_THAT(tape_.Backward({none, x}), IsError(ErrorCode::kTapeRoot, "root 1"));
  EXPECT_THAT(tape_.Backward({none, Sum(x)}), IsError(ErrorCode::kTapeNeedsNoGrad, "root 0"));
}

TEST_F(TorchEngineTest, HooksOfALaterKindAreRemovedAndAddedAtOnce) {
  Var y = Leaf(2) * 2.0;
  ASSERT_OK_AND_ASSIGN(HookHandle removed,
                       y.grad_fn().AddPostHook([this](absl::Span<const Var>, absl::Span<const Var>) {
                         called_.push_back("removed");
                         return Vars();
                       }));
  ASSERT_OK(y.AddHook([&](const Var&) -> absl::StatusOr<Var> {
               removed.Remove();
               const auto pre = [this](absl::Span<const Var>) {
                 called_.push_back("pre");
                 return Vars();
               };
               SLUICE_RETURN_IF_ERROR(y.AddHook(Note("same list")).status());
               SLUICE_RETURN_IF_ERROR(y.grad_fn().AddPreHook(pre).status());
               return Var();
             }).status());
  ASSERT_OK(y.Backward());
  EXPECT_THAT(called_, ElementsAre("pre"));
}

TEST_F(LostLeafTest, IWhoHoldsItsGradientSeesTheSum) {
  for (const bool is_recorded : {false, true}) {
    Var x = Leaf(2);
    const Var y = x * x * 0.75;
    ASSERT_OK(Backward(y, Var(), /*retain_graph=*/true, is_recorded));
    const Var held = x.grad();
    x = Var();
    for (int i = 0; i < 3; ++i) ASSERT_OK(Retained(y));
    EXPECT_THAT(Values(held), ElementsAre(12));
    EXPECT_EQ(held.requires_grad(), is_recorded);
  }
}

TEST_F(TorchEngineTest, ALeafToldToRequireNoGradientIsAConstantOfRecordedPasses) {
  Var x = Leaf(2), w = Leaf(3);
  const Var y = x * x * w;
  ASSERT_OK(x.SetRequiresGrad(false));
  const Var of_w = Derivative(y, w);
  EXPECT_TRUE(of_w.requires_grad());  // By x x, which is no leaf.
  const Var z = x * w;
  EXPECT_FALSE(Derivative(z, w).requires_grad());
  Var v = Leaf(2);
  const Var u = v * w;
  ASSERT_OK(v.SetRequiresGrad(false));
  EXPECT_FALSE(Derivative(u, w).requires_grad());
}

// A post hook that Backward adds to its own node is called, and sees no gradients of outputs the first time.
TEST_F(TorchEngineTest, APostHookMayComeWhileItsNodeRuns) {
  class AddsHook final : public CustomFunction {
   public:
    explicit AddsHook(std::function<void()> add) : add_(std::move(add)) {}
    std::string name() const override { return "AddsHook"; }
    absl::StatusOr<Vars> Forward(FunctionContext&, absl::Span<const Var> in) override { return Vars{in[0] * 2.0}; }
    absl::StatusOr<Vars> Backward(FunctionContext&, absl::Span<const Var> grads) override {
      add_();
      return Vars{grads[0] * 2.0};
    }

   private:
    const std::function<void()> add_;
  };
  std::vector<size_t> num_outputs;
  NodeRef node;
  const Var y = tape_.Apply(std::make_shared<AddsHook>([&] {
                              const auto hook = [&](absl::Span<const Var> inputs, absl::Span<const Var> outputs) {
                                EXPECT_THAT(Values(inputs[0]), ElementsAre(2));
                                num_outputs.push_back(outputs.size());
                                return Vars();
                              };
                              EXPECT_OK(node.AddPostHook(hook).status());
                            }),
                            {Leaf(3)})[0];
  node = y.grad_fn();
  ASSERT_OK(Retained(y));
  ASSERT_OK(Retained(y));
  EXPECT_THAT(num_outputs, ElementsAre(0, 1, 1));
}

// What is differentiable once gives constants, unless a gradient of its outputs is none; then the second derivative is
// an error where the pass goes that way, and inputs are not used by it.
TEST_F(TorchEngineTest, WhatIsDifferentiableOnceGivesConstantsOfConstants) {
  class Once final : public CustomFunction {
   public:
    std::string name() const override { return "Once"; }
    absl::StatusOr<Vars> Forward(FunctionContext& context, absl::Span<const Var> in) override {
      context.SaveForBackward({in[0]});
      return Vars{in[0] * in[0]};
    }
    absl::StatusOr<Vars> Backward(FunctionContext& context, absl::Span<const Var> grads) override {
      SLUICE_ASSIGN_OR_RETURN(const Vars saved, context.Saved());
      return Vars{grads[0] * 2.0 * saved[0]};
    }
    bool is_once_differentiable() const override { return true; }
  };
  const Var x = Leaf(3), seed = Leaf(1);
  const Var z = tape_.Apply(std::make_shared<Once>(), {x * 1.0})[0];
  const Var of_constant = Derivative(z, x);
  EXPECT_THAT(Values(of_constant), ElementsAre(6));
  EXPECT_FALSE(of_constant.requires_grad());
  GradOptions options;
  options.create_graph = true;
  ASSERT_OK_AND_ASSIGN(const Vars seeded, tape_.Grad({z}, {x}, {seed}, options));
  EXPECT_TRUE(seeded[0].requires_grad());
  for (const Var& input : {x, seed}) {
    EXPECT_THAT(tape_.Grad({seeded[0]}, {input}).status(), IsError(ErrorCode::kTapeUnused));
  }
  EXPECT_THAT(seeded[0].Backward(), IsError(ErrorCode::kTapeNoDerivative, "second time"));
}

TEST_F(TorchEngineTest, WithoutRootsThereIsNothingToDo) {
  const Var x = Leaf(3);
  EXPECT_OK(tape_.Backward({}));
  BackwardOptions options;
  options.inputs = Vars{x};
  EXPECT_OK(tape_.Backward({}, {}, options));
  EXPECT_THAT(tape_.Grad({}, {x}).status(), IsError(ErrorCode::kTapeUnused));
  GradOptions unused;
  unused.allow_unused = true;
  ASSERT_OK_AND_ASSIGN(const Vars none, tape_.Grad({}, {x}, {}, unused));
  ASSERT_EQ(none.size(), 1u);
  EXPECT_FALSE(none[0].defined());
  EXPECT_THAT(tape_.Grad({}, {}).status(), IsError(ErrorCode::kWrongUse, "must not be empty"));
  options.inputs = Vars{Constant(1)};
  EXPECT_THAT(tape_.Backward({}, {}, options), IsError(ErrorCode::kTapeNeedsNoGrad));
  EXPECT_THAT(tape_.Backward({}, {Constant(1)}), IsError(ErrorCode::kTapeRoot));
}

TEST_F(TorchEngineTest, LRetainGradInAHookCountsAtOnce) {
  Var y = Leaf(2) * 2.0;
  ASSERT_OK(y.AddHook([&y](const Var&) -> absl::StatusOr<Var> {
               SLUICE_RETURN_IF_ERROR(y.RetainGrad());
               return Var();
             }).status());
  ASSERT_OK((y * 3.0).Backward());
  EXPECT_THAT(GradOf(y), ElementsAre(3));
}

TEST_F(TorchEngineTest, MAccumulateHooksAreCalledWithoutAGradient) {
  Var x = Leaf(2);
  ASSERT_OK(x.AddAccumulateHook(NoteAccumulated()).status());
  ASSERT_OK(tape_.Apply(std::make_shared<GivesNothing>(), {x})[0].Backward());
  EXPECT_THAT(called_, ElementsAre("nothing accumulated"));
}

TEST_F(TorchEngineTest, NPostHooksSeeGradientsThatNobodyNeeds) {
  const Var x = Leaf(2), c = Constant(4);
  int calls = 0;
  const Var y = tape_.Apply(std::make_shared<TwoAndFive>(&calls), {x, c})[0];
  std::vector<float> seen;
  ASSERT_OK(y.grad_fn()
                .AddPostHook([&](absl::Span<const Var> inputs, absl::Span<const Var>) {
                  for (const Var& grad : inputs) seen.push_back(grad.defined() ? Values(grad)[0] : -1);
                  return Vars();
                })
                .status());
  ASSERT_OK(y.Backward());
  EXPECT_THAT(seen, ElementsAre(2, 5));
}

TEST_F(TorchEngineTest, OHooksOfTheOnlyRootRun) {
  const GradOptions unused = [] {
    GradOptions options;
    options.allow_unused = true;
    return options;
  }();
  for (const bool is_old : {false, true}) {
    called_.clear();
    const Var first = Leaf(3), x = Leaf(2);
    const Var u = is_old ? first : Leaf(3);
    Var y = x * 2.0;
    const Var late = is_old ? Leaf(5) : u;
    ASSERT_OK(y.AddHook(Note("y")).status());
    ASSERT_OK(y.RetainGrad());
    ASSERT_OK_AND_ASSIGN(const Vars none, tape_.Grad({y}, {late}, {}, unused));
    EXPECT_FALSE(none[0].defined());
    EXPECT_THAT(called_, ElementsAre("y 1"));
    EXPECT_THAT(GradOf(y), ElementsAre(1));
    // Not those of several roots.
    ASSERT_OK(tape_.Grad({y, late * 3.0}, {late}, {}, unused).status());
    EXPECT_THAT(called_, ElementsAre("y 1"));
    // The nodes below have not run.
    EXPECT_FALSE(x.grad().defined());
  }
}

TEST_F(TorchEngineTest, PNodesWithoutGradientsCheckAndGiveUpTheirValues) {
  const Var x = Leaf({2, 3});
  Var w = x * 1.0;
  const Var y = w * w;
  const Var z = Sum(tape_.Apply(std::make_shared<GivesNothing>(), {y})[0]);
  ASSERT_OK(Retained(z));
  ASSERT_OK(Retained(z));
  ASSERT_OK(w.Assign(w * 2.0));
  EXPECT_THAT(z.Backward(), IsError(ErrorCode::kTapeModified, "modified by an assignment"));
  const Var e = Exp(x * 1.0);
  const Var f = Sum(tape_.Apply(std::make_shared<GivesNothing>(), {e})[0]);
  ASSERT_OK(f.Backward());
  EXPECT_THAT(f.Backward(), IsError(ErrorCode::kTapeFreed, "second time"));
}

TEST_F(TorchEngineTest, QTheOutputThatGotAHookFirstComesFirst) {
  const Var x = Leaf({1, 2, 3});
  Vars parts = Split(x, 0, 3);
  ASSERT_OK(parts[2].AddHook(Note("c1")).status());
  ASSERT_OK(parts[0].AddHook(Note("a1")).status());
  ASSERT_OK(parts[2].AddHook(Note("c2")).status());
  ASSERT_OK(parts[1].RetainGrad());
  ASSERT_OK(parts[1].AddHook(Note("b1")).status());
  ASSERT_OK(Sum(parts[0] + parts[1] + parts[2]).Backward());
  EXPECT_THAT(called_, ElementsAre("c1 1", "c2 1", "a1 1", "b1 1"));
  EXPECT_THAT(GradOf(parts[1]), ElementsAre(1));
}

}  // namespace
}  // namespace sluice

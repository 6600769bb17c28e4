// Groups A (backward and grad), B (pruning) and C (accumulation) of reference/pytorch-autograd.md, 4.

#include <string>
#include <vector>

#include "executor/tape/tape_core.h"
#include "executor/threads/thread_pool.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Counts its calls; the gradient is what came, once more for each input.
class Counted2 final : public CustomFunction {
 public:
  explicit Counted2(int* calls, std::vector<bool>* needs = nullptr) : calls_(calls), needs_(needs) {}
  std::string name() const override { return "Counted"; }
  absl::StatusOr<std::vector<Var>> Forward(FunctionContext&, absl::Span<const Var> inputs) override {
    num_inputs_ = inputs.size();
    return std::vector<Var>{inputs.size() > 1 ? inputs[0] + inputs[1] : inputs[0] * 1.0};
  }
  absl::StatusOr<std::vector<Var>> Backward(FunctionContext& context, absl::Span<const Var> grads) override {
    ++*calls_;
    if (needs_ != nullptr) *needs_ = {context.NeedsInputGrad(0), context.NeedsInputGrad(1)};
    return std::vector<Var>(num_inputs_, grads[0]);
  }

 private:
  size_t num_inputs_ = 0;
  int* const calls_;
  std::vector<bool>* const needs_;
};

class TapeBackwardTest : public TapeFixture {
 protected:
  Var Counted(const Var& x, int* calls) { return tape_.Apply(std::make_shared<Counted2>(calls), {x})[0]; }
};

TEST_F(TapeBackwardTest, A01ScalarRoot) {
  const Var x = Leaf(2), y = Leaf(3);
  ASSERT_OK((x + 2.0 * y + x * y).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(4));
  EXPECT_THAT(GradOf(y), ElementsAre(4));
}

TEST_F(TapeBackwardTest, A02ExplicitSeedTwice) {
  const Var x = Leaf({1, 2}), y = Leaf({3, 4});
  const Var z = x + 2.0 * y + x * y, seed = Constant({1, 10});
  ASSERT_OK(Backward(z, seed, /*retain_graph=*/true));
  EXPECT_THAT(GradOf(x), ElementsAre(4, 50));
  ASSERT_OK(Backward(z, seed));
  EXPECT_THAT(GradOf(x), ElementsAre(8, 100));
  EXPECT_THAT(GradOf(y), ElementsAre(2 * 3, 2 * 40));
}

TEST_F(TapeBackwardTest, A03GradGivesValuesAndSecondDerivatives) {
  const Var x = Leaf({1, 2}), y = Leaf({3, 4});
  const Var z = Sum(x * x * y + x * y * y);
  GradOptions options;
  options.create_graph = true;
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> first, tape_.Grad({z}, {x, y}, {}, options));
  EXPECT_THAT(Values(first[0]), ElementsAre(2 * 1 * 3 + 9, 2 * 2 * 4 + 16));
  EXPECT_FALSE(x.grad().defined());
  const Var sum = Sum(first[0]) + Sum(first[1]);
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> second, tape_.Grad({sum}, {x}));
  // d/dx (2xy + yy + xx + 2xy)
  EXPECT_THAT(Values(second[0]), ElementsAre(4 * 3 + 2 * 1, 4 * 4 + 2 * 2));
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(TapeBackwardTest, A04GradOfInteriorValues) {
  const Var start = Leaf({1, 1}), y = Leaf({2, 2});
  Var x = start;
  for (int i = 0; i < 5; ++i) {
    const Var z = Sum(x * x * y);
    ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({z}, {x}));
    EXPECT_THAT(Values(grads[0]), Each(2 * Values(x)[0] * 2));
    x = x + 0.05 * grads[0];
  }
  EXPECT_FALSE(start.grad().defined());
  EXPECT_FALSE(y.grad().defined());
}

TEST_F(TapeBackwardTest, A05GradOfSeveralOutputsOfOneNode) {
  Var x = Leaf({1, 2, 3, 4});
  int calls = 0;
  ASSERT_OK(x.AddHook([&](const Var&) {
               ++calls;
               return Var();
             }).status());
  const std::vector<Var> parts = Split(x, 0, 2);
  const Var z = parts[0] * 2.0 + parts[1] * 3.0;
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({z}, {parts[0], parts[1]}, {Constant({1, 10})}));
  EXPECT_THAT(Values(grads[0]), ElementsAre(2, 20));
  EXPECT_THAT(Values(grads[1]), ElementsAre(3, 30));
  EXPECT_EQ(calls, 0);
}

TEST_F(TapeBackwardTest, A06SeveralRoots) {
  const Var x = Leaf({1, 2}), y = Leaf({3, 4});
  const Var q = Exp(x) * 0.0 + x;
  ASSERT_OK(tape_.Backward({q * y, q + y}, {Constant({1, 1}), Constant({10, 10})}));
  EXPECT_THAT(GradOf(x), ElementsAre(3 + 10, 4 + 10));
  EXPECT_THAT(GradOf(y), ElementsAre(1 + 10, 2 + 10));
  EXPECT_THAT(tape_.Backward({Sum(x), Sum(Constant({1, 2}))}),
              IsError(ErrorCode::kTapeNeedsNoGrad, "root 1 does not require"));
}

TEST_F(TapeBackwardTest, A07ARootBeforeAnotherGetsSeedPlusFlow) {
  const Var x = Leaf({1, 2});
  const Var y = x * x, z = y * y * y;
  ASSERT_OK(tape_.Backward({y, z}, {Constant({1, 1}), Constant({2, 2})}));
  // 2x + 2 * 6x^5
  EXPECT_THAT(GradOf(x), ElementsAre(2 + 12, 4 + 12 * 32));
}

TEST_F(TapeBackwardTest, A08TheSameRootTwice) {
  const Var x = Leaf({1, 2}), y = x * 3.0;
  ASSERT_OK(tape_.Backward({y, y}, {Constant({1, 1}), Constant({1, 1})}));
  EXPECT_THAT(GradOf(x), ElementsAre(6, 6));
}

TEST_F(TapeBackwardTest, A09UnusedOutputs) {
  const Var x = Leaf({1, 2, 3, 4});
  const std::vector<Var> parts = Split(x, 0, 4);
  ASSERT_OK((parts[1] * parts[2]).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(0, 3, 2, 0));
}

TEST_F(TapeBackwardTest, A10InShards) {
  const Var x = Leaf({1, 2}), y = Leaf({3, 4});
  const Var a = x * y, b = Tanh(a) + a;
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> whole, tape_.Grad({b}, {x, y}, {Constant({1, 1})}, {true}));
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> of_a, tape_.Grad({b}, {a}, {Constant({1, 1})}, {true}));
  ASSERT_OK(Backward(a, of_a[0]));
  EXPECT_EQ(GradOf(x), Values(whole[0]));
  EXPECT_EQ(GradOf(y), Values(whole[1]));
}

TEST_F(TapeBackwardTest, A11BadCalls) {
  const Var x = Leaf({1, 2}), y = Constant({1, 2});
  EXPECT_THAT(Sum(y).Backward(), IsError(ErrorCode::kTapeNeedsNoGrad, "root 0 does not require a gradient"));
  EXPECT_THAT((x * 2.0).Backward(), IsError(ErrorCode::kTapeRoot, "only for scalar outputs"));
  EXPECT_THAT(tape_.Backward({Sum(x), Sum(x)}, {Var()}), IsError(ErrorCode::kTapeRoot, "for each root"));
  EXPECT_THAT(tape_.Backward({Var()}), IsError(ErrorCode::kTapeUndefined, "root 0 is undefined"));
  EXPECT_THAT(Var().Backward(), IsError(ErrorCode::kTapeUndefined));
  EXPECT_THAT(tape_.Grad({Sum(x)}, {y}), IsError(ErrorCode::kTapeNeedsNoGrad, "input 0"));
  EXPECT_THAT(MatMul(x, Constant({1, 2, 3})).Backward(), IsError(ErrorCode::kOpShapes, "MatMul"));
  EXPECT_THAT((MatMul(x, Constant({1, 2, 3})) + x).Backward(), IsError(ErrorCode::kOpShapes, "MatMul"));
  Tape other;
  EXPECT_THAT((x + other.Leaf(Tensor::Scalar(1.0f))).status(), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_THAT(Backward(x * 2.0, Constant({1, 2, 3})), IsError(ErrorCode::kOpShape, "[3]"));
}

TEST_F(TapeBackwardTest, A11ALeafAsRoot) {
  const Var x = Leaf(5);
  ASSERT_OK(x.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(1));
}

TEST_F(TapeBackwardTest, A12GradWithoutInputs) {
  EXPECT_THAT(tape_.Grad({Leaf(1) * 2.0}, {}), IsError(ErrorCode::kWrongUse, "has no inputs"));
}

TEST_F(TapeBackwardTest, A13IntegersRequireNoGradient) {
  const Var x = Leaf({1, 3, 2});
  const Var best = CallOp("ArgMax", {x, ConstantLike(x, Tensor::Scalar<int32_t>(0))});
  EXPECT_FALSE(best.requires_grad());
  EXPECT_FALSE(Cast(x, DType::kInt32).requires_grad());
  EXPECT_THAT(tape_.Leaf(Tensor::Scalar<int32_t>(1)).status(), IsError(ErrorCode::kInputType, "int32"));
  ASSERT_OK((Sum(x) + Cast(best, DType::kFloat)).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(1, 1, 1));
}

TEST_F(TapeBackwardTest, B01UnreachableInputs) {
  const Var x = Leaf(1), y = Leaf(2);
  const Var z = x * 2.0, other = y * 3.0;
  EXPECT_THAT(tape_.Grad({z}, {x, y}, {}, {true}), IsError(ErrorCode::kTapeUnused, "input 1 of Grad was not used"));
  GradOptions options;
  options.allow_unused = true;
  options.retain_graph = true;
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({z}, {x, y, other}, {}, options));
  EXPECT_THAT(Values(grads[0]), ElementsAre(2));
  EXPECT_FALSE(grads[1].defined());
  EXPECT_FALSE(grads[2].defined());
}

TEST_F(TapeBackwardTest, B02WhatLeadsToNoTargetDoesNotRun) {
  const Var x = Leaf(1), y = Leaf(2);
  int calls = 0;
  const Var z = x * 2.0 + Counted(y, &calls);
  ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({z}, {x}));
  EXPECT_THAT(Values(grads[0]), ElementsAre(2));
  EXPECT_EQ(calls, 0);
}

TEST_F(TapeBackwardTest, B03ExactlyTheNeededNodesRun) {
  const Var x = Leaf(1), y = Leaf(2);
  int before_x = 0, before_y = 0, last = 0;
  const Var a = Counted(x, &before_x), b = Counted(y, &before_y);
  const Var c = Counted(a * b, &last);
  GradOptions retain;
  retain.retain_graph = true;
  ASSERT_OK(tape_.Grad({c}, {a}, {}, retain).status());
  EXPECT_THAT(std::vector<int>({before_x, before_y, last}), ElementsAre(0, 0, 1));
  ASSERT_OK(tape_.Grad({c}, {y}, {}, retain).status());
  EXPECT_THAT(std::vector<int>({before_x, before_y, last}), ElementsAre(0, 1, 2));
  ASSERT_OK(c.Backward());
  EXPECT_THAT(std::vector<int>({before_x, before_y, last}), ElementsAre(1, 2, 3));
}

TEST_F(TapeBackwardTest, B04NeedsAreVisibleInCustomFunctions) {
  const Var x = Leaf(1), y = Leaf(2);
  int calls = 0;
  std::vector<bool> needs;
  const Var z = tape_.Apply(std::make_shared<Counted2>(&calls, &needs), {x, y})[0];
  GradOptions retain;
  retain.retain_graph = true;
  ASSERT_OK(tape_.Grad({z}, {y}, {}, retain).status());
  EXPECT_THAT(needs, ElementsAre(false, true));
  ASSERT_OK(z.Backward());
  EXPECT_THAT(needs, ElementsAre(true, true));
}

TEST_F(TapeBackwardTest, B05BackwardWithInputs) {
  const Var x = Leaf(2), y = Leaf(3);
  const Var z = x * x * y;
  BackwardOptions options;
  options.inputs = {{x}};
  ASSERT_OK(tape_.Backward({z}, {}, options));
  EXPECT_THAT(GradOf(x), ElementsAre(12));
  EXPECT_FALSE(y.grad().defined());
}

TEST_F(TapeBackwardTest, B06InteriorAndEmptyInputs) {
  const Var x = Leaf(2), y = Leaf(3), alone = Leaf(4);
  const Var a = x * y, z = a * a;
  BackwardOptions options;
  options.retain_graph = true;
  options.inputs = {{a, x, alone}};
  ASSERT_OK(tape_.Backward({z}, {}, options));
  EXPECT_THAT(GradOf(a), ElementsAre(12));
  EXPECT_THAT(GradOf(x), ElementsAre(36));
  EXPECT_FALSE(y.grad().defined());
  EXPECT_FALSE(alone.grad().defined());
  options.inputs = std::vector<Var>();
  EXPECT_THAT(tape_.Backward({z}, {}, options), IsError(ErrorCode::kWrongUse, "must not be empty"));
}

TEST_F(TapeBackwardTest, B07DiscoveryLooksAtTheNeededPartOnly) {
  Var x = Leaf(1);
  for (int i = 0; i < 1000000; ++i) x = -x;
  const Var y = x * 2.0;
  ASSERT_OK(tape_.Grad({y}, {x}, {}, {true}).status());
  EXPECT_EQ(tape_.NodesSeenByLastPass(), 2);
}

TEST_F(TapeBackwardTest, C01SecondPassesAddInPlaceOrNot) {
  const Var x = Leaf({1, 2});
  const Var y = x * x;
  ASSERT_OK(Backward(y, Constant({1, 1}), /*retain_graph=*/true));
  const Var grad = x.grad();
  ASSERT_OK(Backward(y, Constant({1, 1}), /*retain_graph=*/true));
  EXPECT_TRUE(SameVar(grad, x.grad()));
  EXPECT_THAT(Values(grad), ElementsAre(4, 8));
  ASSERT_OK(Backward(y, Constant({1, 1}), true, /*create_graph=*/true));
  EXPECT_FALSE(SameVar(grad, x.grad()));
  EXPECT_THAT(Values(grad), ElementsAre(4, 8));
  EXPECT_THAT(GradOf(x), ElementsAre(6, 12));
  EXPECT_TRUE(x.grad().requires_grad());
}

TEST_F(TapeBackwardTest, C03EmptyTensors) {
  const Var x = tape_.Leaf(*Tensor::MakeZeros(DType::kFloat, Shape::Of({0, 3}))), b = Leaf({1, 2, 3});
  const Var sum = x + b;
  ASSERT_OK(Backward(sum, tape_.Constant(*Tensor::MakeZeros(DType::kFloat, Shape::Of({0, 3}))), true));
  ASSERT_OK(Backward(sum, tape_.Constant(*Tensor::MakeZeros(DType::kFloat, Shape::Of({0, 3})))));
  EXPECT_EQ(x.grad().shape(), Shape::Of({0, 3}));
  EXPECT_THAT(GradOf(b), ElementsAre(0, 0, 0));
}

TEST_F(TapeBackwardTest, C04AGradientThatNobodyElseHasIsTaken) {
  const std::vector<float> ones(64, 1.0f);
  const Var x = Leaf(ones), y = Leaf(ones);
  ASSERT_OK(Backward(x * y, Constant(ones)));
  EXPECT_TRUE(x.grad().value().IsUniquelyOwned());
  const Var a = Leaf(ones), b = Leaf(ones);
  ASSERT_OK(Backward(a + b, Constant(ones)));
  // One gradient for both: nobody writes over it.
  EXPECT_TRUE(a.grad().value().SharesBufferWith(b.grad().value()));
  ASSERT_OK(Backward(a * 3.0, Constant(ones)));
  EXPECT_THAT(GradOf(a), Each(4));
  EXPECT_THAT(GradOf(b), Each(1));
}

TEST_F(TapeBackwardTest, C05SharedGradientsAreNotWritten) {
  const std::vector<float> ones(64, 1.0f);
  const Var x = Leaf(ones), y = Leaf(ones), z = Leaf(ones), seed = Constant(ones);
  const Var a = x + y, b = a + z, c = b + a;
  ASSERT_OK(Backward(c, seed));
  EXPECT_THAT(Values(seed), Each(1));
  EXPECT_THAT(GradOf(x), Each(2));
  EXPECT_THAT(GradOf(y), Each(2));
  EXPECT_THAT(GradOf(z), Each(1));
}

TEST_F(TapeBackwardTest, C06SeedsAreNotWrittenBySums) {
  const Var x = Leaf(Shape::Of({3, 2}), {1, 2, 3, 4, 5, 6});
  const Var rows = CallOp(
      "GatherV2", {x, ConstantLike(x, Tensor::Vector<int32_t>({0, 0})), ConstantLike(x, Tensor::Scalar<int32_t>(0))});
  const Var seed_rows = Constant(Shape::Of({2, 2}), {1, 2, 3, 4});
  const Var seed = Constant(Shape::Of({3, 2}), {10, 10, 10, 10, 10, 10});
  ASSERT_OK(tape_.Backward({rows, x * 1.0}, {seed_rows, seed}));
  EXPECT_THAT(GradOf(x), ElementsAre(14, 16, 10, 10, 10, 10));
  EXPECT_THAT(Values(seed), Each(10));
  EXPECT_THAT(Values(seed_rows), ElementsAre(1, 2, 3, 4));
}

TEST_F(TapeBackwardTest, C07SameBitsForAnyNumberOfThreads) {
  std::vector<float> x_values, w_values;
  for (int i = 0; i < 64 * 64; ++i) {
    x_values.push_back(static_cast<float>((i * 37) % 101) / 101);
    w_values.push_back(static_cast<float>((i * 53) % 97) / 97 - 0.5f);
  }
  std::vector<float> expected;
  for (const int threads : {1, 2, 8, 32}) {
    TapeOptions options;
    options.num_threads = threads;
    Tape tape(options);
    for (int run = 0; run < 100; ++run) {
      const Var w = tape.Leaf(Tensor::Of<float>(Shape::Of({64, 64}), w_values));
      Var h = tape.Constant(Tensor::Of<float>(Shape::Of({64, 64}), x_values));
      for (int i = 0; i < 4; ++i) h = Tanh(MatMul(h, w)) + h;
      ASSERT_OK(Mean(h).Backward());
      if (expected.empty()) expected = GradOf(w);
      ASSERT_EQ(GradOf(w), expected) << threads;
    }
  }
}

// Branches that are worth a thread: those of the pool have work.
TEST_F(TapeBackwardTest, C07BranchesRunOnThreadsOfThePool) {
  constexpr int kBranches = 16;
  std::vector<float> values;
  for (int i = 0; i < 96 * 96; ++i) values.push_back(static_cast<float>((i * 37) % 101) / 1010);
  std::vector<float> expected;
  for (const int threads : {1, 8}) {
    TapeOptions options;
    options.num_threads = threads;
    Tape tape(options);
    for (int run = 0; run < 8; ++run) {
      const Var w = tape.Leaf(Tensor::Of<float>(Shape::Of({96, 96}), values));
      std::vector<Var> branches;
      for (int b = 0; b < kBranches; ++b) branches.push_back(Tanh(MatMul(w * (b + 1.0), w)));
      Var sum = branches[0];
      for (int b = 1; b < kBranches; ++b) sum = sum + branches[static_cast<size_t>(b)];
      ASSERT_OK(Sum(sum).Backward());
      if (expected.empty()) expected = GradOf(w);
      ASSERT_EQ(GradOf(w), expected) << threads;
    }
    if (threads > 1) {
      EXPECT_GT(tape.core().pool()->num_started(), 0);
    }
  }
}

}  // namespace
}  // namespace sluice

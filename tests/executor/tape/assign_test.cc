// Assignments and hook handles as PyTorch 2.15 has them (copy_, add_, mul_, fill_, RemovableHandle), and the codes of
// errors.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/tape/grad_mode.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "graph/base/error_code_of.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel_registry.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

class TapeAssignTest : public TapeFixture {
 protected:
  GradHook Note(std::string name) {
    return [this, name = std::move(name)](const Var&) {
      calls_.push_back(name);
      return Var();
    };
  }

  std::vector<std::string> calls_;
};

// --- Hook handles ----------------------------------------------------------------------------------------------------

TEST_F(TapeAssignTest, AHandleRemovesItsHookAfterAnAssignment) {
  const Var x = Leaf({2, 3});
  Var y = x * 1.0;
  ASSERT_OK_AND_ASSIGN(HookHandle before, y.AddHook(Note("before")));
  ASSERT_OK(y.AssignMul(3.0));
  ASSERT_OK_AND_ASSIGN(HookHandle after, y.AddHook(Note("after")));
  before.Remove();
  EXPECT_FALSE(before.is_added());
  EXPECT_TRUE(after.is_added());
  ASSERT_OK(Sum(y).Backward());
  EXPECT_THAT(calls_, ElementsAre("after"));
}

TEST_F(TapeAssignTest, HandlesMayOutliveTheirNodeAndBeCopied) {
  HookHandle handle, none;
  {
    Var y = Leaf(1) * 2.0;
    ASSERT_OK_AND_ASSIGN(handle, y.AddHook(Note("y")));
    EXPECT_TRUE(handle.is_added());
  }
  EXPECT_FALSE(handle.is_added());
  handle.Remove();
  none.Remove();
  EXPECT_FALSE(none.is_added());
  Var x = Leaf(1);
  ASSERT_OK_AND_ASSIGN(handle, x.AddHook(Note("x")));
  HookHandle same = handle;
  same.Remove();
  handle.Remove();
  EXPECT_FALSE(handle.is_added());
  ASSERT_OK(x.Backward());
  EXPECT_THAT(calls_, ElementsAre());
}

TEST_F(TapeAssignTest, HooksRemoveThemselvesAndOthersFromTheNextPassOn) {
  const Var x = Leaf({2, 3});
  Var y = x * 1.0;
  HookHandle itself, next;
  ASSERT_OK_AND_ASSIGN(itself, y.AddHook([&](const Var&) {
    calls_.push_back("itself");
    itself.Remove();
    next.Remove();
    return Var();
  }));
  ASSERT_OK_AND_ASSIGN(next, y.AddHook(Note("next")));
  ASSERT_OK(y.AddHook(Note("last")).status());
  ASSERT_OK(Retained(Sum(y)));
  EXPECT_THAT(calls_, ElementsAre("itself", "next", "last"));
  calls_.clear();
  ASSERT_OK(Sum(y).Backward());
  EXPECT_THAT(calls_, ElementsAre("last"));
}

TEST_F(TapeAssignTest, AllKindsOfHooksAreRemoved) {
  Var x = Leaf(1);
  NodeRef node = x.accumulator();
  ASSERT_OK_AND_ASSIGN(HookHandle accumulate, x.AddAccumulateHook([&](const Var&) {
    calls_.push_back("accumulate");
    return absl::OkStatus();
  }));
  ASSERT_OK_AND_ASSIGN(HookHandle pre, node.AddPreHook([&](absl::Span<const Var>) {
    calls_.push_back("pre");
    return std::vector<Var>();
  }));
  ASSERT_OK_AND_ASSIGN(HookHandle post, node.AddPostHook([&](absl::Span<const Var>, absl::Span<const Var>) {
    calls_.push_back("post");
    return std::vector<Var>();
  }));
  ASSERT_OK((x * 2.0).Backward());
  EXPECT_THAT(calls_, ::testing::UnorderedElementsAre("pre", "accumulate", "post"));
  calls_.clear();
  for (HookHandle* const handle : {&pre, &accumulate, &post}) handle->Remove();
  ASSERT_OK((x * 2.0).Backward());
  EXPECT_THAT(calls_, ElementsAre());
}

// --- Assign ----------------------------------------------------------------------------------------------------------

TEST_F(TapeAssignTest, APlainValueKeepsRequiresGrad) {
  const Var x = Leaf({2, 3});
  Var y = x + 0.0;
  ASSERT_OK(y.AddHook([&](const Var& grad) {
               calls_.push_back(grad.value().ToString());
               return Var();
             }).status());
  ASSERT_OK(y.RetainGrad());
  ASSERT_OK(y.Assign(Constant({1, 1})));
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
  EXPECT_EQ(y.grad_fn().name(), "AssignBackward");
  // Nothing is saved, so passes may come again; the second and third run as a graph where hooks allow it.
  for (int i = 1; i <= 3; ++i) {
    ASSERT_OK(Sum(y).Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(0, 0));
    EXPECT_THAT(GradOf(y), ElementsAre(i, i));
  }
  EXPECT_EQ(calls_[0], "float32 [2] {0, 0}");
}

TEST_F(TapeAssignTest, TheOldValueGetsZerosAndTheNewOneAll) {
  for (int i = 0; i < 3; ++i) {
    const Var x = Leaf({2, 3}), w = Leaf({5, 7});
    Var y = x * 1.0;
    ASSERT_OK(y.Assign(w));
    ASSERT_OK(Sum(y * y).Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(0, 0));
    EXPECT_THAT(GradOf(w), ElementsAre(10, 14));
    Var z = x * 1.0;
    ASSERT_OK(z.Assign(w * 3.0));
    ASSERT_OK(z.Assign(z));
    Var(w).ClearGrad();
    ASSERT_OK(Sum(z).Backward());
    EXPECT_THAT(GradOf(w), ElementsAre(3, 3));
  }
}

TEST_F(TapeAssignTest, WithoutRecordingTheHistoryStays) {
  const Var x = Leaf({2, 3});
  Var y = x * 4.0;
  {
    const NoGradScope no_grad;
    ASSERT_OK(y.Assign(Constant({1, 1})));
    ASSERT_OK(y.Fill(9));
  }
  EXPECT_EQ(y.grad_fn().name(), "MulBackward");
  EXPECT_THAT(Values(y), ElementsAre(9, 9));
  ASSERT_OK(Sum(y).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(4, 4));
}

TEST_F(TapeAssignTest, TheRightSideIsBroadcast) {
  const Shape shape = Shape::Of({2, 3});
  for (int i = 0; i < 3; ++i) {
    const Var x = Leaf(shape, {1, 2, 3, 4, 5, 6}), row = Leaf({1, 2, 3}), column = Leaf(Shape::Of({2, 1}), {1, 2});
    Var y = x * 1.0;
    ASSERT_OK(y.AssignMul(row));
    ASSERT_OK(y.AssignDiv(column));
    ASSERT_OK(y.AssignAdd(row));
    ASSERT_OK(y.AssignSub(Leaf(1)));
    EXPECT_EQ(y.shape(), shape);
    EXPECT_THAT(Values(y), ElementsAre(1, 5, 11, 2, 6, 11));
    ASSERT_OK(Sum(y).Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(1, 2, 3, 0.5, 1, 1.5));
    EXPECT_THAT(GradOf(row), ElementsAre(1 + 4 / 2.0 + 2, 2 + 5 / 2.0 + 2, 3 + 6 / 2.0 + 2));
    EXPECT_THAT(GradOf(column), ElementsAre(-14, -(4 + 10 + 18) / 4.0));
    Var z = x * 1.0;
    ASSERT_OK(z.Assign(row));
    Var(row).ClearGrad();
    ASSERT_OK(Sum(z).Backward());
    EXPECT_THAT(GradOf(row), ElementsAre(2, 2, 2));
  }
  Var plain = Constant(shape, {1, 2, 3, 4, 5, 6});
  ASSERT_OK(plain.AssignAdd(Constant({10, 20, 30})));
  EXPECT_THAT(Values(plain), ElementsAre(11, 22, 33, 14, 25, 36));
  ASSERT_OK(plain.Assign(Constant(4)));
  EXPECT_THAT(Values(plain), ElementsAre(4, 4, 4, 4, 4, 4));
}

TEST_F(TapeAssignTest, AVariableMayBeAssignedToItself) {
  const Var x = Leaf({1, 2});
  Var y = x * 3.0, c = Constant({1, 2});
  Var& same = y;
  ASSERT_OK(y.Assign(std::move(same)));
  EXPECT_THAT(Values(y), ElementsAre(3, 6));
  ASSERT_OK(Sum(y * 2.0).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(6, 6));
  Var& same_constant = c;
  ASSERT_OK(c.Assign(std::move(same_constant)));
  EXPECT_THAT(Values(c), ElementsAre(1, 2));
}

TEST_F(TapeAssignTest, AGradientHasTheTypeAndTheShapeOfItsVariable) {
  Var x = Leaf({1, 2});
  EXPECT_THAT(x.SetGrad(Constant(1)), IsError(ErrorCode::kOpShape, "type and the shape"));
  EXPECT_THAT(x.SetGrad(tape_.Constant(Tensor::Vector<double>({1, 2}))), IsError(ErrorCode::kInputType));
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(TapeAssignTest, TheLeftSideIsNot) {
  Var v = Constant({1, 1, 1});
  const Var wide = Constant(Shape::Of({2, 3}), {1, 1, 1, 1, 1, 1}), deep = Constant(Shape::Of({1, 3}), {1, 1, 1});
  for (const Var& other : {wide, deep, Constant({1, 1})}) {
    EXPECT_THAT(v.Assign(other), IsError(ErrorCode::kOpShape, "broadcast"));
    EXPECT_THAT(v.Assign(other * 1.0), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(v.AssignAdd(other), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(v.AssignSub(other), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(v.AssignMul(other), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(v.AssignDiv(other), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(v.Fill(other), IsError(ErrorCode::kOpShape));
  }
  EXPECT_THAT(Values(v), ElementsAre(1, 1, 1));
  EXPECT_EQ(v.version(), 0u);
}

// --- Arithmetic in place ---------------------------------------------------------------------------------------------

// mul_ and div_ keep what they need of the old value; copy_ of a product does not.
TEST_F(TapeAssignTest, ProductsInPlaceKeepTheirOwnOperand) {
  for (int i = 0; i < 3; ++i) {
    const Var x = Leaf({2, 3}), w = Leaf({5, 7});
    Var y = x * 1.0;
    ASSERT_OK(y.AssignMul(w));
    ASSERT_OK(Retained(Sum(y)));
    EXPECT_THAT(GradOf(x), ElementsAre(5, 7));
    EXPECT_THAT(GradOf(w), ElementsAre(2, 3));
    ASSERT_OK(y.AssignMul(w));
    Var(w).ClearGrad();
    ASSERT_OK(Sum(y).Backward());
    EXPECT_THAT(GradOf(w), ElementsAre(2 * 2 * 5, 2 * 3 * 7));
    Var z = x * 1.0;
    ASSERT_OK(z.AssignDiv(w));
    Var(w).ClearGrad();
    ASSERT_OK(Sum(z).Backward());
    EXPECT_THAT(GradOf(w), ElementsAre(-2.0f / 25, -3.0f / 49));
    Var copied = x * 1.0;
    ASSERT_OK(copied.Assign(copied * w));
    EXPECT_THAT(Sum(copied).Backward(), IsError(ErrorCode::kTapeModified));
    Var squared = x * 1.0;
    ASSERT_OK(squared.AssignMul(squared));
    EXPECT_THAT(Sum(squared).Backward(), IsError(ErrorCode::kTapeModified));
    Var curved = x * 1.0;
    ASSERT_OK(curved.Assign(Tanh(curved)));
    EXPECT_OK(Sum(curved).Backward());
  }
}

TEST_F(TapeAssignTest, FillAndZero) {
  const Var x = Leaf({2, 3}), w = Leaf(5);
  Var y = x * 1.0;
  ASSERT_OK(y.Fill(4));
  EXPECT_TRUE(y.requires_grad());
  EXPECT_THAT(Values(y), ElementsAre(4, 4));
  ASSERT_OK(y.Fill(w));
  ASSERT_OK(Sum(y).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(0, 0));
  EXPECT_THAT(GradOf(w), ElementsAre(2));
  Var z = x * 1.0;
  const Var square = z * z;
  ASSERT_OK(z.Zero());
  EXPECT_THAT(Values(z), ElementsAre(0, 0));
  EXPECT_THAT(Sum(square).Backward(), IsError(ErrorCode::kTapeModified));
  Var leaf = x;
  EXPECT_THAT(leaf.Fill(1), IsError(ErrorCode::kTapeLeafAssigned));
  EXPECT_THAT(leaf.AssignMul(2), IsError(ErrorCode::kTapeLeafAssigned));
  Var n = tape_.Constant(Tensor::Vector<int32_t>({1, 2}));
  EXPECT_THAT(n.Fill(2.5), IsError(ErrorCode::kInputType, "2.5 is not an int32"));
  ASSERT_OK(n.AssignMul(3));
}

// A kernel that has taken its input's memory when it fails.
class FailingKernel final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Shape shape = context.input(0).shape();
    absl::StatusOr<Tensor*> taken = context.ForwardOrAllocate(0, shape, {0});
    return taken.ok() ? absl::AbortedError("too late") : taken.status();
  }
};

TEST(TapeFailedAssignTest, AVariableKeepsAValue) {
  KernelRegistry kernels;
  ASSERT_OK(kernels.Add(OwnedKernelRow("AddV2", [](const KernelConstruction&) {
    return absl::StatusOr<std::unique_ptr<Kernel>>(std::make_unique<FailingKernel>());
  })));
  TapeOptions options;
  options.kernels = &kernels;
  Tape tape(options);
  const std::vector<float> many(100, 1.0f);
  Var v = tape.Constant(Tensor::Vector<float>(many));
  const Var one = tape.Constant(Tensor::Vector<float>(many));
  EXPECT_THAT(v.AssignAdd(one), StatusIs(absl::StatusCode::kAborted, "too late"));
  EXPECT_EQ(v.dtype(), DType::kFloat);
  EXPECT_EQ(v.shape(), Shape::Of({100}));
  const Var shared = v.Detach();
  EXPECT_FALSE(v.AssignAdd(one).ok());
  EXPECT_TRUE(v.value().SharesBufferWith(shared.value()));
}

// --- Codes -----------------------------------------------------------------------------------------------------------

class Wrong final : public CustomFunction {
 public:
  std::string name() const override { return "Wrong"; }
  absl::StatusOr<std::vector<Var>> Forward(FunctionContext&, absl::Span<const Var> inputs) override {
    return std::vector<Var>{inputs[0] * 2.0};
  }
  absl::StatusOr<std::vector<Var>> Backward(FunctionContext&, absl::Span<const Var>) override {
    return std::vector<Var>();
  }
};

TEST_F(TapeAssignTest, EachKindOfErrorHasItsCode) {
  Tape other;
  Var x = Leaf({1, 2}), y = x * x, c = Constant({1, 2});
  EXPECT_EQ(ErrorCodeOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(ErrorCodeOf(absl::AbortedError("")), ErrorCode::kForeign);
  EXPECT_EQ(ErrorCodeOf((x + Var()).status()), ErrorCode::kTapeUndefined);
  EXPECT_EQ(ErrorCodeOf((x + other.Leaf<float>({1, 2})).status()), ErrorCode::kTapeForeign);
  EXPECT_EQ(ErrorCodeOf(Sum(c).Backward()), ErrorCode::kTapeNeedsNoGrad);
  EXPECT_EQ(ErrorCodeOf(c.AddHook(Note("")).status()), ErrorCode::kTapeNeedsNoGrad);
  EXPECT_EQ(ErrorCodeOf(y.Backward()), ErrorCode::kTapeRoot);
  EXPECT_EQ(ErrorCodeOf(tape_.Grad({Sum(y)}, {Leaf(1)}).status()), ErrorCode::kTapeUnused);
  ASSERT_OK(Sum(y).Backward());
  EXPECT_EQ(ErrorCodeOf(Sum(y).Backward()), ErrorCode::kTapeFreed);
  Var z = x * 1.0;
  const Var square = z * z;
  ASSERT_OK(z.Zero());
  EXPECT_EQ(ErrorCodeOf(Sum(square).Backward()), ErrorCode::kTapeModified);
  EXPECT_EQ(ErrorCodeOf(x.Zero()), ErrorCode::kTapeLeafAssigned);
  EXPECT_EQ(ErrorCodeOf(x.AddHook(nullptr).status()), ErrorCode::kTapeHook);
  Var hooked = x * 1.0;
  ASSERT_OK(hooked.AddHook([](const Var& grad) { return Sum(grad); }).status());
  EXPECT_EQ(ErrorCodeOf(Sum(hooked).Backward()), ErrorCode::kTapeHook);
  EXPECT_EQ(ErrorCodeOf(Sum(tape_.Apply(std::make_shared<Wrong>(), {x})[0]).Backward()), ErrorCode::kTapeFunction);
  const Var refused = CallOp("PreventGradient", {x}, {{"message", ""}});
  EXPECT_EQ(ErrorCodeOf(Sum(refused).Backward()), ErrorCode::kTapeNoDerivative);
}

}  // namespace
}  // namespace sluice

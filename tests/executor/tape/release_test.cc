// What records, passes and caches keep, and for how long.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/tape/grad_mode.h"
#include "executor/tape/tape_node.h"
#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

class TapeReleaseTest : public TapeFixture {
 protected:
  std::vector<Var> Rows(const Var& x, int64_t num) { return CallOps("Unpack", {x}, {{"num", num}, {"axis", 0}}); }
};

// As unbind and chunk of PyTorch: nothing but shapes is needed.
TEST_F(TapeReleaseTest, D02OpsWithSeveralOutputsMayBePassedTwice) {
  for (int i = 0; i < 4; ++i) {
    const Var x = Leaf(Shape::Of({2, 2}), {1, 2, 3, 4});
    const std::vector<Var> rows = Rows(x, 2), parts = Split(x, 1, 2);
    const Var row = Sum(rows[0]), part = Sum(parts[1]), all = Sum(rows[0] + rows[1]) + Sum(parts[0]);
    for (int pass = 0; pass < 2; ++pass) {
      ASSERT_OK(row.Backward());
      ASSERT_OK(part.Backward());
      ASSERT_OK(all.Backward());
    }
    EXPECT_THAT(GradOf(x), ElementsAre(6, 6, 4, 4));
  }
}

// Axes and permutations are arguments of the call, as in PyTorch, and not saved values.
TEST_F(TapeReleaseTest, D02ArgumentsAreNotSavedValues) {
  const Var x = Leaf(Shape::Of({2, 2}), {1, 2, 3, 4});
  const Var y = Sum(Transpose(x, {1, 0})) + Sum(Concat({x, x}, 0)) + Sum(Reshape(x, {4}));
  ASSERT_OK(y.Backward());
  ASSERT_OK(y.Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(8, 8, 8, 8));
}

TEST_F(TapeReleaseTest, D07PartsAreNotKept) {
  const Var x = Leaf(Shape::Of({2, 64}), std::vector<float>(128, 1.0f)), y = x + 1.0;
  const std::vector<Var> parts = Split(y, 1, 2), rows = Rows(y, 2);
  EXPECT_TRUE(y.value().IsUniquelyOwned());
  EXPECT_TRUE(parts[0].value().IsUniquelyOwned());
  EXPECT_TRUE(rows[0].value().IsUniquelyOwned());
}

// Hooked or not, with a cache or without, the first time or the fourth.
TEST_F(TapeReleaseTest, AnErrorLeavesTheSameStateBehindSeveralOutputs) {
  TapeOptions without;
  without.max_structures = 0;
  for (int i = 0; i < 8; ++i) {
    Tape tape(i < 4 ? without : TapeOptions());
    for (int pass = 0; pass < 4; ++pass) {
      const Var x = tape.Leaf(Tensor::Vector<float>({1, 2})), v = tape.Leaf(Tensor::Scalar(3.0f));
      // Its gradient reads its outputs.
      const std::vector<Var> outputs =
          CallOps("SoftmaxCrossEntropyWithLogits", {Reshape(x, {1, 2}), Reshape(x, {1, 2})});
      const Var first = Sum(outputs[0]);
      ASSERT_OK(first.Backward());
      Var other = v * v;
      if (i % 2 == 1) {
        ASSERT_OK(other.AddHook([](const Var&) { return Var(); }).status());
      }
      EXPECT_THAT((first + other).Backward(), IsError(ErrorCode::kTapeFreed, "second time"));
      EXPECT_THAT(GradOf(v), ElementsAre(6)) << i;
    }
  }
}

TEST_F(TapeReleaseTest, F02RecordedGradientsCheckVersionsToo) {
  Var x = Leaf({1, 2});
  const Var dx = Derivative(Sum(Sin(x)), x);  // Cos of x, which was saved by Sin.
  {
    const NoGradScope no_grad;
    ASSERT_OK(x.AssignAdd(Constant({1, 1})));
  }
  EXPECT_THAT(Sum(dx).Backward(), IsError(ErrorCode::kTapeModified, "modified by an assignment"));
  EXPECT_FALSE(x.grad().defined());
}

// Gives gradients that have a history, which nobody has asked for.
class GivesHistory : public CustomFunction {
 public:
  std::string name() const override { return "GivesHistory"; }
  absl::StatusOr<std::vector<Var>> Forward(FunctionContext&, absl::Span<const Var> inputs) override {
    return std::vector<Var>{inputs[0] * 2.0};
  }
  absl::StatusOr<std::vector<Var>> Backward(FunctionContext&, absl::Span<const Var> grads) override {
    const GradModeScope records(true);
    Var one = ConstantLike(grads[0], Tensor::Scalar(1.0f));
    const absl::Status status = one.SetRequiresGrad(true);
    return status.ok() ? std::vector<Var>{one * 2.0} : std::vector<Var>{Var::Failed(status)};
  }
};

TEST_F(TapeReleaseTest, ASumThatIsNotRecordedHasNoHistory) {
  const Var x = Leaf(1);
  Var y = x * 1.0;
  std::vector<bool> seen;
  ASSERT_OK(y.AddHook([&](const Var& grad) {
               seen.push_back(grad.requires_grad());
               return Var();
             }).status());
  const Var product = y * 5.0;
  // Younger, so that what it gives comes first.
  const Var given = tape_.Apply(std::make_shared<GivesHistory>(), {y})[0];
  ASSERT_OK((product + given).Backward());
  EXPECT_THAT(seen, ElementsAre(false));
  EXPECT_THAT(GradOf(x), ElementsAre(7));
}

// A hook that ends with the last gradient that has its node as history may ask for that leaf's gradient.
TEST_F(TapeReleaseTest, NoLockOfALeafIsHeldWhereHooksEnd) {
  Var x = Leaf(1);
  bool has_ended = false;
  ASSERT_OK(x.AddHook([&](const Var& grad) -> absl::StatusOr<Var> {
               const GradModeScope records(true);
               Var one = ConstantLike(grad, Tensor::Scalar(1.0f));
               const absl::Status leaf = one.SetRequiresGrad(true);
               Var given = one * 2.0;
               std::shared_ptr<void> guard(nullptr, [&](void*) {
                 has_ended = true;
                 (void)x.grad();
               });
               const absl::Status added = given.AddHook([guard](const Var&) { return Var(); }).status();
               return added.ok() && leaf.ok() ? given : Var::Failed(added);
             }).status());
  ASSERT_OK((x * 1.0).Backward());
  EXPECT_TRUE(has_ended);
  EXPECT_THAT(GradOf(x), ElementsAre(2));
}

// More ops than a tape keeps: those of formulas lose nothing by it for long.
TEST_F(TapeReleaseTest, ManyOpsDoNotSlowFormulasDown) {
  const auto second_order = [this] {
    const Var x = Leaf({1, 2});
    const Var dx = Derivative(Sum(x * x * Tanh(x)), x);
    ASSERT_OK(Sum(dx * dx).Backward());
  };
  for (int i = 0; i < 4; ++i) second_order();
  const Var one = Constant({1, 2});
  for (int i = 0; i < 5000; ++i) {
    ASSERT_OK(CallOp("LeakyRelu", {one}, {{"alpha", static_cast<float>(i) * 0.001f}}).status());
  }
  for (int i = 0; i < 4; ++i) second_order();
  const int64_t compiled = tape_.NumCompiledStructures(), hits = tape_.NumPassesOfKnownStructure();
  for (int i = 0; i < 10; ++i) second_order();
  EXPECT_EQ(tape_.NumCompiledStructures(), compiled);
  EXPECT_EQ(tape_.NumPassesOfKnownStructure(), hits + 10);
}

TEST_F(TapeReleaseTest, H01PlacesDoNotGrowWithTheirDepth) {
  constexpr int kDepth = 300;
  const AnomalyScope anomaly(/*checks_nan=*/false);
  [[maybe_unused]] const int64_t before = LiveNewBytes();
  // Each is recorded while the node of the one before runs.
  GradOptions options;
  options.create_graph = true;
  Var last = Leaf(1);
  std::vector<Var> products = {last * 2.0};
  for (int i = 0; i < kDepth; ++i) {
    const Var seed = Leaf(1);
    ASSERT_OK_AND_ASSIGN(const std::vector<Var> grads, tape_.Grad({products.back()}, {last}, {seed}, options));
    products.push_back(grads[0]);
    last = seed;
  }
#ifdef SLUICE_COUNTS_NEW
  EXPECT_LT(LiveNewBytes() - before, int64_t{kDepth} * 32 * 1024);
#endif
  // An error names the first of them.
  Var bad = products.back() * 1.0;
  ASSERT_OK(NodeRef(products.back().grad_fn())
                .AddPreHook([](absl::Span<const Var>) -> absl::StatusOr<std::vector<Var>> {
                  return absl::AbortedError("here");
                })
                .status());
  const std::string text(bad.Backward().message());
  EXPECT_THAT(text, ::testing::HasSubstr("MulBackward was recorded at Mul"));
  EXPECT_THAT(text, ::testing::HasSubstr("while MulBackward ran, which was recorded at Mul"));
  EXPECT_LT(text.size(), 100000);
}

TEST_F(TapeReleaseTest, OpsAreBoundedInBytes) {
  [[maybe_unused]] const int64_t before = LiveNewBytes();
  std::vector<float> values(1 << 18, 1.0f);
  for (int i = 0; i < 60; ++i) {
    values[0] = static_cast<float>(i);
    ASSERT_OK(tape_.Op("Const", {}, {{"dtype", DType::kFloat}, {"value", Tensor::Vector<float>(values)}})[0].status());
  }
#ifdef SLUICE_COUNTS_NEW
  EXPECT_LT(LiveNewBytes() - before, int64_t{100} << 20);
#endif
}

TEST_F(TapeReleaseTest, StructuresAreBoundedInBytes) {
  TapeOptions options;
  options.max_structure_bytes = 1;
  Tape tape(options);
  const auto pass = [&](int length) {
    const Var x = tape.Leaf(Tensor::Scalar(1.0f));
    Var y = x;
    for (int i = 0; i < length; ++i) y = y + y;
    ASSERT_OK(y.Backward());
    ASSERT_OK_AND_ASSIGN(const float grad, x.grad().value().AsScalar<float>());
    EXPECT_EQ(grad, static_cast<float>(1 << length));
  };
  for (int i = 0; i < 4; ++i) {
    pass(3);
    pass(4);
  }
  EXPECT_EQ(tape.NumCompiledStructures(), 0);
  for (int i = 0; i < 3; ++i) pass(5);
  EXPECT_EQ(tape.NumCompiledStructures(), 1);
  EXPECT_EQ(tape.NumPassesOfKnownStructure(), 1);
}

}  // namespace
}  // namespace sluice

// What is called wrongly fails, and says so: no crash, and no numbers.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class TapeMisuseTest : public TapeFixture {};

TEST_F(TapeMisuseTest, EmptyHooksAreRefused) {
  Var x = Leaf(1);
  EXPECT_THAT(x.AddHook(nullptr).status(), IsError(ErrorCode::kTapeHook, "empty"));
  EXPECT_THAT(x.AddAccumulateHook(nullptr).status(), IsError(ErrorCode::kTapeHook, "empty"));
  EXPECT_THAT(x.accumulator().AddPreHook(nullptr).status(), IsError(ErrorCode::kTapeHook, "empty"));
  EXPECT_THAT(x.accumulator().AddPostHook(nullptr).status(), IsError(ErrorCode::kTapeHook, "empty"));
  absl::Status queued;
  ASSERT_OK(x.AddHook([&](const Var&) {
               queued = Tape::QueueCallback(nullptr);
               return Var();
             }).status());
  ASSERT_OK((x * 2.0).Backward());
  EXPECT_THAT(queued, IsError(ErrorCode::kTapeHook, "empty"));
}

TEST_F(TapeMisuseTest, AFailedCallHasAllItsOutputs) {
  const Var failed = Var::Failed(absl::AbortedError("first"));
  const std::vector<Var> parts = Split(failed, 0, 3);
  ASSERT_THAT(parts, SizeIs(3));
  EXPECT_THAT(parts[2].status(), StatusIs(absl::StatusCode::kAborted, "first"));
  const std::vector<Var> uneven = Split(Leaf({1, 2}), 0, 3);
  ASSERT_THAT(uneven, SizeIs(3));
  EXPECT_FALSE(uneven[2].status().ok());
  EXPECT_THAT(Split(Leaf({1, 2}), 0, 0), SizeIs(1));
  // The sizes of these follow from the op, from an attr of the call, from its inputs.
  ASSERT_THAT(CallOps("SparseSoftmaxCrossEntropyWithLogits", {failed, failed}), SizeIs(2));
  ASSERT_THAT(tape_.Op("Unpack", {failed}, {{"num", 4}, {"axis", 0}}), SizeIs(4));
  ASSERT_THAT(tape_.Op("IdentityN", {failed, Leaf(1)}), SizeIs(2));
  ASSERT_THAT(tape_.Op("TopKV2", {Leaf(1), Leaf(2)}), SizeIs(2));
  EXPECT_THAT(tape_.Op("NoSuchOp", {Leaf(1)}), SizeIs(1));
  Tape other;
  ASSERT_THAT(other.Op("Unpack", {Leaf({1, 2})}, {{"num", 2}}), SizeIs(2));
}

TEST_F(TapeMisuseTest, SumsOfTwoTapesAreRefused) {
  Tape other;
  Var x = Constant({1, 2});
  const Var stranger = other.Constant(Tensor::Vector<float>({1, 2}));
  EXPECT_THAT(x.AssignAdd(stranger), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_THAT(x.AssignSub(stranger), IsError(ErrorCode::kTapeForeign, "another tape"));
  EXPECT_THAT(Values(x), ElementsAre(1, 2));
  EXPECT_EQ(x.version(), 0);
}

TEST_F(TapeMisuseTest, AConstantHasAValue) {
  const Var none = tape_.Constant(Tensor());
  EXPECT_THAT(none.status(), IsError(ErrorCode::kTapeUndefined));
  EXPECT_THAT(tape_.Leaf(Tensor()).status(), IsError(ErrorCode::kTapeUndefined));
  const Var x = Leaf(1);
  EXPECT_THAT(ConstantLike(x, Tensor()).status(), IsError(ErrorCode::kTapeUndefined));
  EXPECT_THAT(Backward(x * 2.0, none), IsError(ErrorCode::kTapeUndefined));
}

// Says in Backward what belongs into Forward.
class SaysItLate : public CustomFunction {
 public:
  explicit SaysItLate(int what) : what_(what) {}
  std::string name() const override { return "SaysItLate"; }
  absl::StatusOr<std::vector<Var>> Forward(FunctionContext&, absl::Span<const Var> inputs) override {
    return std::vector<Var>{inputs[0] * 2.0};
  }
  absl::StatusOr<std::vector<Var>> Backward(FunctionContext& context, absl::Span<const Var> grads) override {
    if (what_ == 0) context.SaveForBackward({grads[0]});
    if (what_ == 1) context.MarkDirty(grads[0]);
    if (what_ == 2) context.MarkNonDifferentiable(grads[0]);
    if (what_ == 3) context.SetMaterializeGrads(false);
    return std::vector<Var>{grads[0] * 2.0};
  }

 private:
  const int what_;
};

TEST_F(TapeMisuseTest, WhatBelongsIntoForwardIsRefusedInBackward) {
  const char* const names[] = {"SaveForBackward", "MarkDirty", "MarkNonDifferentiable", "SetMaterializeGrads"};
  for (int what = 0; what < 5; ++what) {
    const Var x = Leaf(1);
    const absl::Status status = tape_.Apply(std::make_shared<SaysItLate>(what), {x})[0].Backward();
    if (what == 4) {
      EXPECT_OK(status);
    } else {
      EXPECT_THAT(status, IsError(ErrorCode::kTapeFunction, names[what]));
      EXPECT_FALSE(x.grad().defined());
    }
  }
}

// Assigns to its input, and says that no gradient flows through it.
class DirtyAndConstant : public CustomFunction {
 public:
  std::string name() const override { return "DirtyAndConstant"; }
  absl::StatusOr<std::vector<Var>> Forward(FunctionContext& context, absl::Span<const Var> inputs) override {
    Var x = inputs[0];
    const absl::Status status = x.Assign(x * 2.0);
    if (!status.ok()) return status;
    context.MarkDirty(x);
    context.MarkNonDifferentiable(x);
    return std::vector<Var>{x};
  }
  absl::StatusOr<std::vector<Var>> Backward(FunctionContext&, absl::Span<const Var> grads) override {
    return std::vector<Var>{grads[0]};
  }
};

TEST_F(TapeMisuseTest, WhatIsDirtyHasAGradient) {
  const Var x = Leaf(1), y = x * 3.0;
  EXPECT_THAT(tape_.Apply(std::make_shared<DirtyAndConstant>(), {y})[0].status(),
              IsError(ErrorCode::kTapeFunction, "dirty"));
  // Where there is none to lose, all is well.
  const Var z = Constant(1);
  EXPECT_THAT(Values(tape_.Apply(std::make_shared<DirtyAndConstant>(), {z})[0]), ElementsAre(2));
}

}  // namespace
}  // namespace sluice

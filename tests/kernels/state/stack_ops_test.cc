#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/step_runner.h"

namespace sluice {
namespace {

// Both forms: the handle as a resource, and as a reference to strings.
class StackOpsTest : public ::testing::TestWithParam<bool> {
 protected:
  GraphBuilder& b() { return steps_.graph(); }
  std::string Op(absl::string_view op) const { return absl::StrCat(op, GetParam() ? "V2" : ""); }
  Output Stack(int max_size) {
    const std::vector<Output> inputs =
        GetParam() ? std::vector<Output>{b().Const("max_size", Tensor::Scalar(int32_t{max_size}))}
                   : std::vector<Output>{};
    return b().Op(Op("Stack"), "stack", inputs, {{"elem_type", DType::kInt32}});
  }
  Output Push(Output stack, int32_t value) {
    return b().Op(Op("StackPush"), "", {stack, b().Const("", Tensor::Scalar(value))});
  }
  Output Pop(Output stack, DType dtype = DType::kInt32) {
    return b().Op(Op("StackPop"), "", {stack}, {{"elem_type", dtype}});
  }

  StepRunner steps_;
};

TEST_P(StackOpsTest, GivesBackTheLastValueFirst) {
  const Output stack = Stack(-1);
  const Output push1 = Push(stack, 1);
  const Output push2 = Push(stack, 2);
  const Output pop2 = Pop(stack);
  const Output pop1 = Pop(stack);
  ASSERT_OK_AND_ASSIGN(const auto values, steps_.Run({push1, push2, pop2, pop1}));
  EXPECT_EQ(*values[1].AsScalar<int32_t>(), 2);
  EXPECT_EQ(*values[2].AsScalar<int32_t>(), 2);
  EXPECT_EQ(*values[3].AsScalar<int32_t>(), 1);
}

// Plain scalars take a way of their own.
TEST(StackV2Test, KeepsValuesOfAnyDtypeAndShape) {
  const std::vector<Tensor> values = {
      Tensor::Scalar(1.5f),           Tensor::Scalar(2.5),        Tensor::Scalar<int32_t>(-3),
      Tensor::Scalar<int64_t>(-4),    Tensor::Scalar(true),       Tensor::Scalar<uint8_t>(200),
      Tensor::Scalar<int16_t>(-6),    Tensor::String("seven"),    Tensor::Vector<float>({8}),
      Tensor::Vector<double>({9, 9}), Tensor::Vector<int64_t>({})};
  for (const Tensor& value : values) {
    SCOPED_TRACE(value.ToString());
    StepRunner steps;
    GraphBuilder& b = steps.graph();
    const Output size = b.Const("max_size", Tensor::Scalar<int32_t>(-1));
    const Output stack = b.Op("StackV2", "stack", {size}, {{"elem_type", value.dtype()}});
    const Output push = b.Op("StackPushV2", "push", {stack, b.Const("value", value)});
    const Output pop = b.Op("StackPopV2", "pop", {stack}, {{"elem_type", value.dtype()}});
    ASSERT_OK_AND_ASSIGN(const auto results, steps.Run({push, pop}));
    for (const Tensor& result : results) {
      EXPECT_EQ(result.dtype(), value.dtype());
      EXPECT_EQ(result.shape(), value.shape());
      EXPECT_EQ(result.ToString(), value.ToString());
    }
  }
}

TEST_P(StackOpsTest, LivesForOneStep) {
  const Output stack = Stack(-1);
  const Output push = Push(stack, 1);
  const Output pop = Pop(stack);
  ASSERT_OK(steps_.Run({push}));
  EXPECT_THAT(steps_.Run({pop}), StatusIs(absl::StatusCode::kInvalidArgument, "empty"));
}

// A stack that holds its own handle would hold itself alive.
TEST(StackCycleTest, EndsWithItsStep) {
  StepRunner steps;
  GraphBuilder& b = steps.graph();
  const Output size = b.Const("max_size", Tensor::Scalar<int32_t>(-1));
  const Output one = b.Op("StackV2", "one", {size}, {{"elem_type", DType::kResource}});
  const Output two = b.Op("StackV2", "two", {size}, {{"elem_type", DType::kResource}});
  const Output pushes[] = {b.Op("StackPushV2", "a", {one, one}), b.Op("StackPushV2", "b", {one, two}),
                           b.Op("StackPushV2", "c", {two, one})};
  ASSERT_OK(steps.Run({pushes[0], pushes[1], pushes[2]}));
  const int64_t before = HostAllocatorLiveBytes();
  for (int i = 0; i < 10; ++i) ASSERT_OK(steps.Run({pushes[0], pushes[1], pushes[2]}));
  EXPECT_EQ(HostAllocatorLiveBytes(), before);
}

TEST_P(StackOpsTest, PoppingAnotherDtypeIsInternal) {
  const Output stack = Stack(-1);
  const Output push = Push(stack, 1);
  const Output pop = Pop(stack, DType::kFloat);
  EXPECT_THAT(steps_.Run({push, pop}), IsError(ErrorCode::kOutputType, "found int32, expected float32"));
  // Nothing to pop comes before its dtype, as in TensorFlow.
  EXPECT_THAT(steps_.Run({pop}), StatusIs(absl::StatusCode::kInvalidArgument, "empty"));
}

TEST_P(StackOpsTest, NothingGoesInOrOutOnceItIsClosed) {
  const Output stack = Stack(-1);
  const Output push = Push(stack, 1);
  const Output close = b().Op(Op("StackClose"), "close", {stack});
  const Output pop = Pop(stack);
  EXPECT_THAT(steps_.Run({push, close, pop}), StatusIs(absl::StatusCode::kInvalidArgument, "closed"));
}

INSTANTIATE_TEST_SUITE_P(Forms, StackOpsTest, ::testing::Bool());

TEST(StackV2Test, TakesNoMoreThanMaxSize) {
  StepRunner steps;
  GraphBuilder& b = steps.graph();
  const Output one = b.Const("one", Tensor::Scalar(int32_t{1}));
  const Output stack = b.Op("StackV2", "stack", {one}, {{"elem_type", DType::kInt32}});
  const Output push = b.Op("StackPushV2", "push", {stack, one});
  const Output again = b.Op("StackPushV2", "again", {stack, one});
  EXPECT_THAT(steps.Run({push}), IsOk());
  EXPECT_THAT(steps.Run({push, again}), StatusIs(absl::StatusCode::kInvalidArgument, "again"));
}

}  // namespace
}  // namespace sluice

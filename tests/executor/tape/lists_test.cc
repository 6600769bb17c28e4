// Gradients through variants that hold tensors: lists and optionals. The gradient of a list is a list.

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

class TapeListsTest : public TapeFixture {
 protected:
  Var ListOf(const Var& x) {
    return tape_.Op("TensorListFromTensor", {x, shape_}, {{"element_dtype", DType::kFloat}})[0];
  }
  Var Stack(const Var& list) {
    return tape_.Op("TensorListStack", {list, shape_}, {{"element_dtype", DType::kFloat}})[0];
  }
  Var Item(const Var& list, int32_t i) {
    return tape_.Op("TensorListGetItem", {list, tape_.Constant(Tensor::Scalar(i)), shape_},
                    {{"element_dtype", DType::kFloat}})[0];
  }
  Var Push(const Var& list, const Var& item) { return tape_.Op("TensorListPushBack", {list, item})[0]; }
  std::vector<Var> Pop(const Var& list) {
    return tape_.Op("TensorListPopBack", {list, shape_}, {{"element_dtype", DType::kFloat}});
  }
  Var Empty() {
    return tape_.Op("EmptyTensorList", {shape_, tape_.Constant(Tensor::Scalar(int32_t{8}))},
                    {{"element_dtype", DType::kFloat}})[0];
  }

  // Elements are scalars.
  const Var shape_ = tape_.Constant(Tensor::Vector<int32_t>({}));
};

// The third time by a compiled graph.
TEST_F(TapeListsTest, GradientsFlowThroughLists) {
  for (int i = 0; i < 4; ++i) {
    const Var x = Leaf({1, 2, 3}), y = Stack(ListOf(x));
    ASSERT_OK(y.status());
    EXPECT_TRUE(y.requires_grad());
    ASSERT_OK((Sum(y * y) + Sum(x)).Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(3, 5, 7));
  }
}

TEST_F(TapeListsTest, GradientsOfOneListAreAdded) {
  for (int i = 0; i < 4; ++i) {
    const Var x = Leaf({1, 2, 3}), list = ListOf(x);
    ASSERT_OK((Sum(Stack(list)) + Item(list, 1) * 10.0 + Item(list, 1) * 100.0).Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(1, 111, 1));
  }
}

TEST_F(TapeListsTest, WhatIsPushedIsPopped) {
  for (int i = 0; i < 4; ++i) {
    const Var x = Leaf(2), y = Leaf(3);
    const std::vector<Var> popped = Pop(Push(Push(Empty(), x), y * y));
    ASSERT_OK(popped[1].status());
    ASSERT_OK((popped[1] * 10.0).Backward());
    EXPECT_THAT(GradOf(y), ElementsAre(60));
    ASSERT_OK(Pop(Push(Push(Empty(), x), y))[0].status());
    ASSERT_OK((Pop(Pop(Push(Push(Empty(), x * x), y))[0])[1]).Backward());
    EXPECT_THAT(GradOf(x), ElementsAre(4));
  }
}

TEST_F(TapeListsTest, GradientsOfGradientsFlowThroughLists) {
  const Var x = Leaf({1, 2}), y = Stack(ListOf(x * x));
  const Var dx = Derivative(Sum(y * y), x);  // 4 x^3
  EXPECT_THAT(Values(dx), ElementsAre(4, 32));
  ASSERT_OK(Sum(dx).Backward());  // 12 x^2
  EXPECT_THAT(GradOf(x), ElementsAre(12, 48));
}

TEST_F(TapeListsTest, ListsMayRetainTheirGradient) {
  const Var x = Leaf({1, 2});
  Var list = ListOf(x);
  ASSERT_OK(list.RetainGrad());
  const Var y = Sum(Stack(list) * 3.0);
  ASSERT_OK(Retained(y));
  ASSERT_OK(Retained(y));
  EXPECT_THAT(Values(Stack(list.grad())), ElementsAre(6, 6));
  EXPECT_THAT(GradOf(x), ElementsAre(6, 6));
}

TEST_F(TapeListsTest, AListAsRootNeedsAGradient) {
  const Var x = Leaf({1, 2}), list = ListOf(x);
  EXPECT_THAT(list.Backward(), IsError(ErrorCode::kTapeRoot, "root 0"));
  ASSERT_OK(Backward(list, ListOf(Constant({5, 7}))));
  EXPECT_THAT(GradOf(x), ElementsAre(5, 7));
}

TEST_F(TapeListsTest, OptionalsToo) {
  const Var x = Leaf({1, 2});
  const Var optional =
      tape_.Op("OptionalFromValue", {x * x}, {{"Toutput_types", std::vector<DType>{DType::kFloat}}})[0];
  const Var y = tape_.Op("OptionalGetValue", {optional},
                         {{"output_types", std::vector<DType>{DType::kFloat}},
                          {"output_shapes", std::vector<PartialShape>{PartialShape()}}})[0];
  ASSERT_OK(y.status());
  ASSERT_OK(Sum(y).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(2, 4));
}

// What has no gradient says so, and is not left out.
TEST_F(TapeListsTest, AnOpOnListsWithoutAGradientIsAnError) {
  const Var x = Leaf({1, 2}), list = ListOf(x);
  const Var both = tape_.Op("TensorListConcatLists", {list, list}, {{"element_dtype", DType::kFloat}})[0];
  ASSERT_OK(both.status());
  EXPECT_THAT(Sum(Stack(both)).Backward(), IsError(ErrorCode::kTapeNoDerivative, "TensorListConcatLists"));
}

TEST_F(TapeListsTest, ListsAreNoLeaves) {
  Var list = ListOf(Constant({1, 2}));
  EXPECT_FALSE(list.requires_grad());
  EXPECT_THAT(list.SetRequiresGrad(true), IsError(ErrorCode::kInputType));
}

// Twice what a list holds, by way of a function of lists.
class PassList : public CustomFunction {
 public:
  std::string name() const override { return "PassList"; }
  absl::StatusOr<std::vector<Var>> Forward(FunctionContext&, absl::Span<const Var> inputs) override {
    return std::vector<Var>{inputs[0], inputs[1] * 2.0};
  }
  absl::StatusOr<std::vector<Var>> Backward(FunctionContext&, absl::Span<const Var> grads) override {
    return std::vector<Var>{grads[0], grads[1] * 2.0};
  }
};

TEST_F(TapeListsTest, CustomFunctionsTakeLists) {
  const Var x = Leaf({1, 2});
  const std::vector<Var> outputs = tape_.Apply(std::make_shared<PassList>(), {ListOf(x), x});
  ASSERT_OK(Sum(Stack(outputs[0]) * 3.0 + outputs[1]).Backward());
  EXPECT_THAT(GradOf(x), ElementsAre(5, 5));
  // A list has no zeros of its own to stand for a gradient that is not there.
  const Var y = Leaf({1, 2});
  ASSERT_OK(Sum(tape_.Apply(std::make_shared<PassList>(), {ListOf(y), y})[1]).Backward());
  EXPECT_THAT(GradOf(y), ElementsAre(2, 2));
}

TEST_F(TapeListsTest, ArraysArePassedOnce) {
  const auto sum_of = [this](const Var& x) {
    const std::vector<Var> array =
        tape_.Op("TensorArrayV3", {tape_.Constant(Tensor::Scalar(int32_t{2}))}, {{"dtype", DType::kFloat}});
    const Var zero = tape_.Constant(Tensor::Scalar(int32_t{0}));
    const Var flow = tape_.Op("TensorArrayWriteV3", {array[0], zero, x, array[1]})[0];
    return tape_.Op("TensorArrayReadV3", {array[0], zero, flow}, {{"dtype", DType::kFloat}})[0];
  };
  const Var x = Leaf(2), y = sum_of(x * x);
  ASSERT_OK(y.status());
  ASSERT_OK(Retained(y * 3.0));
  EXPECT_THAT(GradOf(x), ElementsAre(12));
  // A second pass has arrays of gradients of its own, or fails: never more than it should.
  const absl::Status second = Retained(y * 3.0);
  if (second.ok()) {
    EXPECT_THAT(GradOf(x), ElementsAre(24));
  } else {
    EXPECT_THAT(GradOf(x), ElementsAre(12));
  }
}

}  // namespace
}  // namespace sluice

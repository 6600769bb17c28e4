#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/step_runner.h"

namespace sluice {
namespace {

std::vector<float> Values(const absl::StatusOr<Tensor>& tensor) {
  if (!tensor.ok()) return {};
  const absl::Span<const float> values = tensor->flat<float>();
  return {values.begin(), values.end()};
}

Tensor Floats(const std::vector<float>& values) { return Tensor::Vector<float>(values); }

// Arrays of float vectors in each of the three forms of handles.
class TensorArrayOpsTest : public ::testing::TestWithParam<const char*> {
 protected:
  struct Array {
    Output handle, flow;
  };

  // The early forms stand in early graphs only.
  void SetUp() override { b().graph().versions().producer = 15; }

  GraphBuilder& b() { return steps_.graph(); }
  std::string Op(absl::string_view op) const { return absl::StrCat(op, GetParam()); }
  Output Int(int32_t value) { return b().Const("", Tensor::Scalar(value)); }
  Output Ints(const std::vector<int32_t>& values) { return b().Const("", Tensor::Vector<int32_t>(values)); }
  Output Value(const std::vector<float>& values) { return b().Const("", Floats(values)); }

  Array Make(int32_t size, GraphBuilder::Attrs attrs = {}) {
    attrs.emplace_back("dtype", DType::kFloat);
    const Output handle = b().Op(Op("TensorArray"), "", {Int(size)}, attrs);
    const bool gives_flow = std::string(GetParam()) == "V3";
    return {handle, gives_flow ? GraphBuilder::Nth(handle, 1) : b().Const("", Tensor::Scalar(0.0f))};
  }
  Array Write(Array array, int32_t index, const std::vector<float>& value) {
    return {array.handle, b().Op(Op("TensorArrayWrite"), "", {array.handle, Int(index), Value(value), array.flow})};
  }
  Output Read(Array array, int32_t index) {
    return b().Op(Op("TensorArrayRead"), "", {array.handle, Int(index), array.flow}, {{"dtype", DType::kFloat}});
  }
  Output Gather(Array array, const std::vector<int32_t>& indices) {
    return b().Op(Op("TensorArrayGather"), "", {array.handle, Ints(indices), array.flow}, {{"dtype", DType::kFloat}});
  }

  TrackingAllocator limited_{HostAllocator(), 1 << 20};  // For runs; outlives what their steps leave.
  StepRunner steps_;
};

TEST_P(TensorArrayOpsTest, ReadsWhatWasWritten) {
  const Array array = Write(Write(Make(2), 0, {1, 2}), 1, {3});
  const Output a = Read(array, 1);
  const Output c = Read(array, 0);
  const Output size = b().Op(Op("TensorArraySize"), "size", {array.handle, array.flow});
  ASSERT_OK_AND_ASSIGN(const auto values, steps_.Run({a, c, size}));
  EXPECT_EQ(Values(values[0]), (std::vector<float>{3}));
  EXPECT_EQ(Values(values[1]), (std::vector<float>{1, 2}));
  EXPECT_EQ(*values[2].AsScalar<int32_t>(), 2);
}

TEST_P(TensorArrayOpsTest, AnElementIsWrittenOnceAndReadOnce) {
  const Array array = Write(Make(1), 0, {1});
  const Output read = Read(array, 0);
  EXPECT_THAT(steps_.Run({read}), IsOk());
  EXPECT_THAT(steps_.Run({read, Read(array, 0)}), StatusIs(absl::StatusCode::kInvalidArgument, "clear_after_read"));
  EXPECT_THAT(steps_.Run({Write(array, 0, {2}).flow}), StatusIs(absl::StatusCode::kInvalidArgument, "before"));
}

TEST_P(TensorArrayOpsTest, IndicesMustBeInside) {
  const Array array = Make(1);
  EXPECT_THAT(steps_.Run({Read(array, 1)}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(steps_.Run({Read(array, -1)}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(steps_.Run({Write(array, 1, {1}).flow}), IsError(ErrorCode::kTensorArrayIndex));
}

TEST_P(TensorArrayOpsTest, UnwrittenElementsAreZerosWhereTheirShapeIsKnown) {
  EXPECT_THAT(steps_.Run({Read(Make(1), 0)}), StatusIs(absl::StatusCode::kInvalidArgument, "never written"));
  const Array known = Make(1, {{"element_shape", Shape::Of({2})}});
  EXPECT_EQ(Values(steps_.Run1(Read(known, 0))), (std::vector<float>{0, 0}));
}

TEST_P(TensorArrayOpsTest, GrowsWhereItMay) {
  const Array array = Write(Make(0, {{"dynamic_size", true}}), 3, {5});
  const Output size = b().Op(Op("TensorArraySize"), "size", {array.handle, array.flow});
  EXPECT_EQ(*steps_.Run1(size)->AsScalar<int32_t>(), 4);
}

TEST_P(TensorArrayOpsTest, ElementsKeepToTheDeclaredShape) {
  const Array array = Make(1, {{"element_shape", Shape::Of({2})}});
  EXPECT_THAT(steps_.Run({Write(array, 0, {1}).flow}), StatusIs(absl::StatusCode::kInvalidArgument, "shape"));
}

TEST_P(TensorArrayOpsTest, GatherStacksAndNeedsEqualShapes) {
  const Array array = Write(Write(Write(Make(3), 0, {1, 2}), 1, {3, 4}), 2, {5});
  const absl::StatusOr<Tensor> rows = steps_.Run1(Gather(array, {1, 0}));
  EXPECT_EQ(Values(rows), (std::vector<float>{3, 4, 1, 2}));
  EXPECT_EQ(rows->shape(), Shape::Of({2, 2}));
  EXPECT_THAT(steps_.Run1(Gather(array, {0, 2})), StatusIs(absl::StatusCode::kInvalidArgument, "shape"));
  EXPECT_THAT(steps_.Run1(Gather(array, {0, 3})), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(steps_.Run1(Gather(array, {})), StatusIs(absl::StatusCode::kUnimplemented));
}

TEST_P(TensorArrayOpsTest, ScatterTakesRows) {
  const Array array = Make(3);
  const Output rows = b().Const("rows", Tensor::Of<float>(Shape::Of({2, 2}), {1, 2, 3, 4}));
  const Output flow = b().Op(Op("TensorArrayScatter"), "scatter", {array.handle, Ints({2, 0}), rows, array.flow});
  EXPECT_EQ(Values(steps_.Run1(Gather({array.handle, flow}, {0, 2}))), (std::vector<float>{3, 4, 1, 2}));
  const Output few = b().Op(Op("TensorArrayScatter"), "few", {array.handle, Ints({2}), rows, array.flow});
  EXPECT_THAT(steps_.Run1(few), StatusIs(absl::StatusCode::kInvalidArgument, "few"));
  const Output none = b().Const("none", Tensor::Of<float>(Shape::Of({0, 5}), {}));
  const Array narrow = Make(3, {{"element_shape", Shape::Of({2})}});
  EXPECT_THAT(steps_.Run1(b().Op(Op("TensorArrayScatter"), "idle", {narrow.handle, Ints({}), none, narrow.flow})),
              IsOk());
}

TEST_P(TensorArrayOpsTest, RowsThatWereScatteredLeaveTheShapeOfTheOthersOpen) {
  const Array array = Make(3);
  const Output rows = b().Const("rows", Tensor::Of<float>(Shape::Of({2, 2}), {1, 2, 3, 4}));
  const Output flow = b().Op(Op("TensorArrayScatter"), "scatter", {array.handle, Ints({2, 0}), rows, array.flow});
  EXPECT_EQ(Values(steps_.Run1(Read(Write({array.handle, flow}, 1, {7, 8, 9}), 1))), (std::vector<float>{7, 8, 9}));
  const Output other = b().Op(Op("TensorArrayGather"), "other", {array.handle, Ints({0}), flow},
                              {{"dtype", DType::kFloat}, {"element_shape", Shape::Of({9})}});
  EXPECT_THAT(steps_.Run1(other), StatusIs(absl::StatusCode::kInvalidArgument, "[9]"));
}

TEST_P(TensorArrayOpsTest, SplitAndConcatUndoEachOther) {
  const Array array = Make(3);
  const Output lengths = b().Const("lengths", Tensor::Vector<int64_t>({2, 0, 1}));
  const Output flow = b().Op(Op("TensorArraySplit"), "split", {array.handle, Value({1, 2, 3}), lengths, array.flow});
  const Output concat = b().Op(Op("TensorArrayConcat"), "concat", {array.handle, flow}, {{"dtype", DType::kFloat}});
  ASSERT_OK_AND_ASSIGN(const auto values, steps_.Run({concat, GraphBuilder::Nth(concat, 1)}));
  EXPECT_EQ(Values(values[0]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(values[1].flat<int64_t>()[2], 1);
  const Output bad = b().Op(Op("TensorArraySplit"), "bad", {array.handle, Value({1, 2}), lengths, array.flow});
  EXPECT_THAT(steps_.Run1(bad), StatusIs(absl::StatusCode::kInvalidArgument, "bad"));
}

TEST_P(TensorArrayOpsTest, NothingIsReadFromAClosedArray) {
  const Array array = Write(Make(1), 0, {1});
  const Output close = b().Op(Op("TensorArrayClose"), "close", {array.handle});
  EXPECT_THAT(steps_.Run({array.flow, GraphBuilder::Control(close), Read(array, 0)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "closed"));
}

INSTANTIATE_TEST_SUITE_P(Forms, TensorArrayOpsTest, ::testing::Values("", "V2", "V3"));

class TensorArrayGradTest : public TensorArrayOpsTest {
 protected:
  Array Grad(Array array, absl::string_view source) {
    const Output grad = b().Op("TensorArrayGradV3", "", {array.handle, array.flow}, {{"source", AttrValue(source)}});
    return {grad, GraphBuilder::Nth(grad, 1)};
  }
};

TEST_P(TensorArrayGradTest, WritesToAGradientAddUp) {
  const Array array = Write(Make(2), 0, {1, 1});
  const Array grad = Write(Write(Grad(array, "g"), 0, {1, 2}), 0, {10, 20});
  EXPECT_EQ(Values(steps_.Run1(Read(grad, 0))), (std::vector<float>{11, 22}));
}

TEST_P(TensorArrayGradTest, WhatNobodyWroteToIsZerosOfTheShapeWritten) {
  const Array array = Write(Make(2), 0, {1, 1});
  EXPECT_EQ(Values(steps_.Run1(Read(Grad(array, "g"), 0))), (std::vector<float>{0, 0}));
}

TEST_P(TensorArrayGradTest, BehindTheEndAreZerosWhereTheirShapeIsKnown) {
  const Array known = Grad(Make(1, {{"element_shape", Shape::Of({2})}}), "g");
  const Output read = Read(known, 3);
  EXPECT_EQ(Values(steps_.Run1(read)), (std::vector<float>{0, 0}));
  const Output size = b().Op("TensorArraySizeV3", "size", {known.handle, known.flow});
  EXPECT_OK(b().graph().AddControl(size.node, read.node));
  EXPECT_EQ(*steps_.Run1(size)->AsScalar<int32_t>(), 4);
  EXPECT_THAT(steps_.Run1(Read(known, -1)), IsError(ErrorCode::kTensorArrayIndex));
  EXPECT_THAT(steps_.Run1(Read(Grad(Make(1), "g"), 3)), IsError(ErrorCode::kTensorArrayIndex));
}

TEST_P(TensorArrayGradTest, OneArrayForEachSource) {
  const Array array = Write(Make(1), 0, {1});
  const Array first = Write(Grad(array, "g"), 0, {1});
  const Array second = Write(Grad({array.handle, first.flow}, "g"), 0, {2});
  const Array other = Write(Grad(array, "other"), 0, {5});
  EXPECT_EQ(Values(steps_.Run1(Read(second, 0))), (std::vector<float>{3}));
  EXPECT_EQ(Values(steps_.Run1(Read(other, 0))), (std::vector<float>{5}));
}

TEST_P(TensorArrayGradTest, GradientsOfOneElementHaveOneShape) {
  const Array array = Write(Make(1), 0, {1});
  const Array grad = Write(Grad(array, "g"), 0, {1, 2});
  EXPECT_THAT(steps_.Run1(grad.flow), StatusIs(absl::StatusCode::kInvalidArgument, "shape"));
}

TEST_P(TensorArrayGradTest, GradWithShapePutsDimensionsInFront) {
  const Array array = Write(Make(1), 0, {1});
  const Output grad = b().Op("TensorArrayGradWithShape", "", {array.handle, array.flow, Ints({2})}, {{"source", "g"}});
  const absl::StatusOr<Tensor> zeros = steps_.Run1(Read({grad, GraphBuilder::Nth(grad, 1)}, 0));
  ASSERT_OK(zeros);
  EXPECT_EQ(zeros->shape(), Shape::Of({2, 1}));
}

// 2^20 elements are a table of more than 100 MB, which the limit of a session must cover.
TEST_P(TensorArrayGradTest, TheTableCountsAgainstTheLimitOfMemory) {
  steps_.run().allocator = &limited_;
  EXPECT_THROW(steps_.Run1(Make(1 << 20).flow).status().IgnoreError(), std::bad_alloc);
  const Array array = Make(1, {{"dynamic_size", true}});
  EXPECT_THROW(steps_.Run1(Write(array, 1 << 20, {1}).flow).status().IgnoreError(), std::bad_alloc);
  EXPECT_OK(steps_.Run1(Write(array, 1000, {1}).flow));
  EXPECT_GT(limited_.peak_bytes(), 100'000);
}

TEST_P(TensorArrayGradTest, GradientsOfGradientsAreNotMadeForEver) {
  Array array = Make(1);
  for (int i = 0; i < 64; ++i) array = Grad(array, "g");
  EXPECT_OK(steps_.Run1(array.flow));
  EXPECT_THAT(steps_.Run1(Grad(array, "g").flow), IsError(ErrorCode::kOpUnimplemented, "more than 64 deep"));
}

// An array that holds its own handle, or whose gradient does, would hold itself alive.
TEST(TensorArrayCycleTest, EndsWithItsStep) {
  StepRunner steps;
  GraphBuilder& b = steps.graph();
  const Output zero = b.Const("zero", Tensor::Scalar<int32_t>(0));
  const Output size = b.Const("size", Tensor::Scalar<int32_t>(1));
  const auto make = [&](const char* name) {
    return b.Op("TensorArrayV3", name, {size}, {{"dtype", DType::kResource}});
  };
  const auto write = [&](const char* name, Output array, Output value) {
    return b.Op("TensorArrayWriteV3", name, {array, zero, value, b.Const("", Tensor::Scalar(0.0f))});
  };
  const Output one = make("one");
  const Output two = make("two");
  const Output three = make("three");
  const Output grad = b.Op("TensorArrayGradV3", "grad", {two, GraphBuilder::Nth(two, 1)}, {{"source", "g"}});
  const std::vector<Output> writes = {write("a", one, one), write("b", grad, two), write("c", two, three),
                                      write("d", three, two)};
  ASSERT_OK(steps.Run(writes));
  const int64_t before = HostAllocatorLiveBytes();
  for (int i = 0; i < 10; ++i) ASSERT_OK(steps.Run(writes));
  EXPECT_EQ(HostAllocatorLiveBytes(), before);
}

INSTANTIATE_TEST_SUITE_P(V3, TensorArrayGradTest, ::testing::Values("V3"));

}  // namespace
}  // namespace sluice

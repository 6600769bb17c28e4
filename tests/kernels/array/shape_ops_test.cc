#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

Tensor Ints(std::vector<int32_t> values) { return Tensor::Vector<int32_t>(values); }
Tensor Floats(std::initializer_list<int64_t> dims) {
  absl::StatusOr<Tensor> made = Tensor::MakeZeros(DType::kFloat, Shape::Of(dims));
  return *std::move(made);
}

TEST(ShapeOpsTest, ShapeGivesTheSizes) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Shape").Run1({Floats({2, 3})}));
  EXPECT_THAT(y.flat<int32_t>(), ElementsAre(2, 3));
}

TEST(ShapeOpsTest, ShapeNGivesThemAsInt64) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       KernelRunner("ShapeN").Attr("out_type", DType::kInt64).Run({Floats({2, 3}), Floats({})}));
  EXPECT_THAT(y[0].flat<int64_t>(), ElementsAre(2, 3));
  EXPECT_EQ(y[1].num_elements(), 0);
}

TEST(ShapeOpsTest, ReshapeSharesTheBufferAndInfersOneSize) {
  const Tensor x = Floats({4, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Reshape").Run1({x, Ints({3, -1})}));
  EXPECT_THAT(y.shape().dims(), ElementsAre(3, 8));
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST(ShapeOpsTest, ReshapeOfAnEmptyTensorLeavesZerosOutOfTheCount) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Reshape").Run1({Floats({0, 3}), Ints({-1, 0})}));
  EXPECT_THAT(y.shape().dims(), ElementsAre(3, 0));
}

TEST(ShapeOpsTest, ReshapeRefusesOtherCounts) {
  for (const std::vector<int32_t>& dims : std::vector<std::vector<int32_t>>{
           {5}, {-1, 5}, {-1, -1}, {-2, 3}, {1 << 30, 1 << 30}, {1 << 30, 1 << 30, 1 << 30}}) {
    EXPECT_THAT(KernelRunner("Reshape").Run1({Floats({2, 3}), Ints(dims)}),
                StatusIs(absl::StatusCode::kInvalidArgument, "op"));
  }
}

TEST(ShapeOpsTest, ExpandDimsCountsFromTheEnd) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ExpandDims").Run1({Floats({2, 3}), Tensor::Scalar<int32_t>(-1)}));
  EXPECT_THAT(y.shape().dims(), ElementsAre(2, 3, 1));
  EXPECT_THAT(KernelRunner("ExpandDims").Run1({Floats({2, 3}), Tensor::Scalar<int32_t>(3)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "expected -3 to 2"));
}

TEST(ShapeOpsTest, SqueezeLeavesOutWhatItNames) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Squeeze").Run1({Floats({1, 3, 1})}));
  EXPECT_THAT(y.shape().dims(), ElementsAre(3));
  EXPECT_THAT(KernelRunner("Squeeze").Attr("squeeze_dims", std::vector<int64_t>{1}).Run1({Floats({1, 3, 1})}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace sluice

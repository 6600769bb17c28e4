#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/dtype_set.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr DType kReals[] = {DType::kFloat, DType::kDouble, DType::kHalf,  DType::kBFloat16,
                            DType::kInt8,  DType::kUInt8,  DType::kInt16, DType::kUInt16,
                            DType::kInt32, DType::kUInt32, DType::kInt64, DType::kUInt64};

TEST(CrossTest, MultipliesVectorsOfAllDTypes) {
  for (const DType dtype : kReals) {
    for (const bool movable : {false, true}) {
      const Tensor a = TensorOf(dtype, {2, 3}, {1, 2, 3, 7, 0, 1}), b = TensorOf(dtype, {2, 3}, {2, 6, 7, 0, 3, 9});
      ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Cross").Run1({a.DeepCopy().value(), b}, movable));
      // Without sign -4 wraps around, and so do -1 and -63.
      const std::vector<double> want = {-4, -1, 2, -3, -63, 21};
      ASSERT_OK_AND_ASSIGN(const Tensor sum,
                           KernelRunner("AddV2").Run1({y, TensorOf(dtype, {2, 3}, {64, 64, 64, 64, 64, 64})}));
      EXPECT_EQ(Difference(sum, {60, 63, 66, 61, 1, 85}), "") << DTypeName(dtype);
      const bool has_sign = kSignedTypes.Contains(dtype) || kFloatTypes.Contains(dtype);
      EXPECT_EQ(has_sign ? Difference(y, want) : "", "");
    }
  }
  const Tensor vectors = FloatsOf({2, 3}, std::vector<double>(6));
  EXPECT_THAT(KernelRunner("Cross").Run1({vectors, FloatsOf({3}, {0, 0, 0})}).status(), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(KernelRunner("Cross").Run1({FloatsOf({4}, {0, 0, 0, 0}), FloatsOf({4}, {0, 0, 0, 0})}).status(),
              IsError(ErrorCode::kOpPrecondition));
  EXPECT_THAT(KernelRunner("Cross").Run1({FloatsOf({}, {0}), FloatsOf({}, {0})}).status(),
              IsError(ErrorCode::kOpShape));
  EXPECT_OK(KernelRunner("Cross").Run1({FloatsOf({0, 3}, {}), FloatsOf({0, 3}, {})}).status());
}

KernelRunner Histogram(DType counts) {
  KernelRunner runner("HistogramFixedWidth");
  runner.Attr("dtype", counts);
  return runner;
}

TEST(HistogramFixedWidthTest, CountsValuesAndPutsOutliersInTheOuterBins) {
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
    for (const DType counts : {DType::kInt32, DType::kInt64}) {
      ASSERT_OK_AND_ASSIGN(const Tensor y,
                           Histogram(counts).Run1({TensorOf(dtype, {11}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -50}),
                                                   TensorOf(dtype, {2}, {0, 9}), Tensor::Scalar<int32_t>(4)}));
      EXPECT_EQ(y.dtype(), counts);
      EXPECT_EQ(Difference(y, {4, 2, 2, 3}), "");
    }
  }
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  ASSERT_OK_AND_ASSIGN(const Tensor wide,
                       Histogram(DType::kInt32)
                           .Run1({Tensor::Vector<int64_t>({kMax / 2, -kMax / 2, 0, kMax}),
                                  Tensor::Vector<int64_t>({-kMax - 1, kMax}), Tensor::Scalar<int32_t>(4)}));
  EXPECT_EQ(DoublesOf(wide)[0], 0);
}

TEST(HistogramFixedWidthTest, RefusesNaNAndEmptyRanges) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto run = [](std::vector<float> values, std::vector<float> range, int32_t bins) {
    return Histogram(DType::kInt32)
        .Run1({Tensor::Vector<float>(values), Tensor::Vector<float>(range), Tensor::Scalar(bins)})
        .status();
  };
  EXPECT_OK(run({inf, -inf, 1}, {0, 2}, 3));
  EXPECT_OK(run({inf, -inf, 1}, {0, inf}, 3));
  EXPECT_OK(run({}, {0, 2}, 3));
  EXPECT_THAT(run({1, nan}, {0, 2}, 3), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({1}, {2, 2}, 3), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({1}, {nan, 2}, 3), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({1}, {0, 2}, 0), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({1}, {0, 2}, -5), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run({1}, {0, 1, 2}, 3), IsError(ErrorCode::kOpShape));
}

}  // namespace
}  // namespace sluice

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

Tensor Matrix(int64_t rows, int64_t columns, std::vector<int32_t> values) {
  return Tensor::Of<int32_t>(Shape::Of({rows, columns}), values);
}

TEST(WhereTest, GivesCoordinatesInOrder) {
  const Tensor x = Tensor::Of<bool>(Shape::Of({2, 2}), {false, true, true, false});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Where").Run1({x}));
  EXPECT_THAT(Values<int64_t>(y), ElementsAre(0, 1, 1, 0));
}

TEST(WhereTest, OneHotLeavesRowsWithBadIndicesOff) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("OneHot").Run1({Ints({1, -1, 2}), Int(2), Int(5), Int(0)}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(0, 5, 0, 0, 0, 0));
  EXPECT_THAT(KernelRunner("OneHot").Run1({Ints({1}), Int(-1), Int(5), Int(0)}), StatusIs(kInvalid, "'depth'"));
}

TEST(UniqueTest, KeepsTheFirstOfEquals) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("UniqueWithCounts").Run({Ints({7, 3, 7, 7})}));
  EXPECT_THAT(Values<int32_t>(y[0]), ElementsAre(7, 3));
  EXPECT_THAT(Values<int32_t>(y[1]), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Values<int32_t>(y[2]), ElementsAre(3, 1));
}

TEST(UniqueTest, NamesUniqueColumns) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       KernelRunner("UniqueV2").Run({Matrix(2, 3, {1, 2, 1, 3, 4, 3}), Ints({1})}));
  EXPECT_THAT(Values<int32_t>(y[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Values<int32_t>(y[1]), ElementsAre(0, 1, 0));
}

TEST(TopKTest, GivesTheLargestFirst) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("TopKV2").Run({Ints({3, 9, 9, 1}), Int(3)}));
  EXPECT_THAT(Values<int32_t>(y[0]), ElementsAre(9, 9, 3));
  EXPECT_THAT(Values<int32_t>(y[1]), ElementsAre(1, 2, 0));
  EXPECT_THAT(KernelRunner("TopKV2").Run({Ints({3}), Int(2)}), StatusIs(kInvalid, "'k'"));
}

TEST(DynamicStitchTest, RowsGoBackWhereTheyCameFrom) {
  KernelRunner partition("DynamicPartition");
  partition.Attr("num_partitions", 2);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> parts, partition.Run({Ints({5, 6, 7}), Ints({1, 0, 1})}));
  EXPECT_THAT(Values<int32_t>(parts[1]), ElementsAre(5, 7));
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("DynamicStitch").Attr("N", 2).Run1({Ints({1}), Ints({0, 2}), parts[0], parts[1]}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(5, 6, 7));
}

TEST(DiagonalTest, BandsArePackedAsTheAttrSays) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("MatrixDiagPartV3").Run1({Matrix(2, 2, {1, 2, 3, 4}), Ints({-1, 1}), Int(0)}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(0, 2, 1, 4, 3, 0));
}

TEST(DiagonalTest, TheirPaddingIsOneElementOfAnyRank) {
  KernelRunner part("MatrixDiagPartV3");
  ASSERT_OK_AND_ASSIGN(const Tensor y, part.Run1({Matrix(2, 2, {0, 1, 2, 3}), Ints({0, 1}), Ints({7})}));
  EXPECT_EQ(y.num_elements(), 4);
  EXPECT_THAT(part.Run1({Matrix(2, 2, {0, 1, 2, 3}), Ints({0, 1}), Ints({7, 7})}), StatusIs(kInvalid));
}

TEST(ReverseTest, NothingIsReversedAlongAnyAxis) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ReverseV2").Run1({Counting({2, 0}), Ints({0, 9})}));
  EXPECT_THAT(Dims(y), ElementsAre(2, 0));
}

TEST(DiagonalTest, BandPartClearsTheRest) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("MatrixBandPart").Run1({Matrix(2, 2, {1, 2, 3, 4}), Int(0), Int(-1)}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(1, 2, 0, 4));
}

TEST(SearchTest, BoundsAreFoundPerRow) {
  ASSERT_OK_AND_ASSIGN(const Tensor low,
                       KernelRunner("LowerBound").Run1({Matrix(1, 4, {1, 3, 3, 5}), Matrix(1, 2, {3, 6})}));
  EXPECT_THAT(Values<int32_t>(low), ElementsAre(1, 4));
}

TEST(SearchTest, PositionsBecomeCoordinates) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("UnravelIndex").Run1({Ints({5, 0}), Ints({2, 3})}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(1, 0, 2, 0));
}

TEST(TopKTest, WhatIsNotSortedComesAsTheHeapLeavesIt) {
  const Tensor x = Ints({-29, -47, -83, 40, -13, -47, 39, 77});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("TopKV2").Attr("sorted", false).Run({x, Int(4)}));
  EXPECT_THAT(Values<int32_t>(y[1]), ElementsAre(4, 6, 3, 7));
}

TEST(TopKTest, TheLargestIsNoNaN) {
  const Tensor x = Tensor::Vector<float>({std::nanf(""), -2.0f, 1.0f});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("TopKV2").Run({x, Int(1)}));
  EXPECT_THAT(Values<int32_t>(y[1]), ElementsAre(2));
}

}  // namespace
}  // namespace sluice

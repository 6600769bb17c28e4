#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(SliceTest, TakesABox) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Slice").Run1({Counting({3, 4}), Ints({1, 1}), Ints({-1, 2})}));
  EXPECT_THAT(Values<float>(y), ElementsAre(5, 6, 9, 10));
}

TEST(SliceTest, RefusesABoxThatLeadsOut) {
  EXPECT_THAT(KernelRunner("Slice").Run1({Counting({3}), Ints({2}), Ints({2})}), StatusIs(kInvalid, "'size'"));
  EXPECT_THAT(KernelRunner("Slice").Run1({Counting({3}), Ints({4}), Ints({-1})}), StatusIs(kInvalid, "'begin'"));
}

TEST(SliceTest, StridedSliceGoesBackwards) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("StridedSlice").Run1({Counting({5}), Ints({-1}), Ints({0}), Ints({-2})}));
  EXPECT_THAT(Values<float>(y), ElementsAre(4, 2));
}

TEST(SliceTest, StridedSliceKnowsNewAxesAndEllipsis) {
  // x[..., newaxis, 1]
  KernelRunner slice("StridedSlice");
  slice.Attr("ellipsis_mask", 1).Attr("new_axis_mask", 2).Attr("shrink_axis_mask", 4);
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       slice.Run1({Counting({2, 3}), Ints({0, 0, 1}), Ints({0, 0, 2}), Ints({1, 1, 1})}));
  EXPECT_THAT(Dims(y), ElementsAre(2, 1));
  EXPECT_THAT(Values<float>(y), ElementsAre(1, 4));
}

TEST(SliceTest, AnIndexOutOfRangeIsAnError) {
  KernelRunner slice("StridedSlice");
  slice.Attr("shrink_axis_mask", 1);
  EXPECT_THAT(slice.Run1({Counting({5}), Ints({5}), Ints({6}), Ints({1})}), StatusIs(kInvalid, "index 5"));
  EXPECT_THAT(KernelRunner("StridedSlice").Run1({Counting({5}), Ints({0}), Ints({6}), Ints({0})}), StatusIs(kInvalid));
}

TEST(SliceTest, TheGradientPutsTheSliceBack) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      KernelRunner("StridedSliceGrad").Run1({Ints({5}), Ints({0}), Ints({5}), Ints({2}), Counting({3})}));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 0, 1, 0, 2));
}

TEST(SliceTest, AllOfATensorIsTheTensor) {
  const Tensor x = Counting({8, 8});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Slice").Run1({x, Ints({0, 0}), Ints({-1, -1})}));
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST(SliceTest, AnUpdateIsBroadcastToTheSlice) {
  const auto update = [](const Tensor& x, int end, const Tensor& value) {
    return KernelRunner("TensorStridedSliceUpdate").Run1({x, Ints({0}), Ints({end}), Ints({1}), value});
  };
  const Tensor x = Tensor::Of<float>(Shape::Of({2, 2}), {1, 2, 3, 4});
  ASSERT_OK_AND_ASSIGN(const Tensor row, update(x, 2, Tensor::Vector<float>({8, 9})));
  EXPECT_THAT(Values<float>(row), ElementsAre(8, 9, 8, 9));
  ASSERT_OK_AND_ASSIGN(const Tensor column, update(x, 2, Tensor::Of<float>(Shape::Of({1, 2, 1}), {8, 9})));
  EXPECT_THAT(Values<float>(column), ElementsAre(8, 8, 9, 9));
  ASSERT_OK_AND_ASSIGN(const Tensor none, update(x, 0, Counting({3})));
  EXPECT_THAT(Values<float>(none), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(update(x, 2, Counting({3})), StatusIs(kInvalid, "broadcasts"));
}

TEST(SliceTest, AnUpdateWritesOverItsInputOnlyWhereNobodyElseHoldsIt) {
  const auto update = [](Tensor x, bool movable) {
    std::vector<Tensor> inputs;
    inputs.push_back(std::move(x));
    for (const Tensor& rest : {Ints({0}), Ints({1}), Ints({1}), Tensor::Scalar(9.0f)}) inputs.push_back(rest);
    return KernelRunner("TensorStridedSliceUpdate").Run1(std::move(inputs), movable);
  };
  const Tensor kept = Tensor::Vector<float>(std::vector<float>(100, 1.0f));
  for (const bool movable : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const Tensor updated, update(kept, movable));
    EXPECT_EQ(updated.flat<float>()[0], 9.0f);
    EXPECT_EQ(kept.flat<float>()[0], 1.0f) << movable;
  }
  Tensor given = Tensor::Vector<float>(std::vector<float>(100, 1.0f));
  const void* const place = given.raw_data();
  ASSERT_OK_AND_ASSIGN(const Tensor updated, update(std::move(given), true));
  EXPECT_EQ(updated.raw_data(), place);
}

}  // namespace
}  // namespace sluice

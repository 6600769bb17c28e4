#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(GatherTest, PicksRowsAlongAnAxis) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("GatherV2").Run1({Counting({2, 3}), Ints({2, 0}), Int(1)}));
  EXPECT_THAT(Values<float>(y), ElementsAre(2, 0, 5, 3));
}

TEST(GatherTest, BatchesGoTogether) {
  const Tensor indices = Tensor::Of<int32_t>(Shape::Of({2, 1}), {2, 0});
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("GatherV2").Attr("batch_dims", 1).Run1({Counting({2, 3}), indices, Int(1)}));
  EXPECT_THAT(Values<float>(y), ElementsAre(2, 3));
}

TEST(GatherTest, NamesTheIndexThatIsOutOfRange) {
  EXPECT_THAT(KernelRunner("GatherV2").Run1({Counting({3}), Ints({0, 3}), Int(0)}),
              StatusIs(kInvalid, "index 3 at position 1"));
  EXPECT_THAT(KernelRunner("Gather").Run1({Counting({3}), Ints({-1})}), StatusIs(kInvalid));
}

TEST(GatherTest, GatherNdPicksByCoordinates) {
  const Tensor indices = Tensor::Of<int32_t>(Shape::Of({2, 2}), {1, 2, 0, 1});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("GatherNd").Run1({Counting({2, 3}), indices}));
  EXPECT_THAT(Values<float>(y), ElementsAre(5, 1));
}

TEST(GatherTest, ScatterNdAddsWhatMeets) {
  const Tensor indices = Tensor::Of<int32_t>(Shape::Of({3, 1}), {1, 1, 3});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ScatterNd").Run1({indices, Counting({3}), Ints({4})}));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(KernelRunner("ScatterNd").Run1({indices, Counting({3}), Ints({3})}), StatusIs(kInvalid, "[3]"));
}

TEST(GatherTest, ThePolicySaysWhatBecomesOfBadIndices) {
  const auto ignoring = [](const char* op) { return KernelRunner(op).Attr("bad_indices_policy", "IGNORE"); };
  const Tensor indices = Tensor::Of<int32_t>(Shape::Of({3, 1}), {0, 5, 1});
  EXPECT_THAT(Values<float>(*ignoring("GatherNd").Run1({Counting({2, 2}), indices})), ElementsAre(0, 1, 0, 0, 2, 3));
  EXPECT_THAT(Values<float>(*ignoring("ScatterNd").Run1({indices, Counting({3}), Ints({2})})), ElementsAre(0, 2));
  EXPECT_THAT(Values<float>(*ignoring("TensorScatterAdd").Run1({Counting({2}), indices, Counting({3})})),
              ElementsAre(0, 3));
  EXPECT_THAT(KernelRunner("GatherNd").Attr("bad_indices_policy", "bogus").Run1({Counting({2, 2}), indices}),
              StatusIs(kInvalid, "bad_indices_policy"));
}

TEST(GatherTest, AScatterNeedsIndicesEvenForNothing) {
  const Tensor none = Tensor::Of<int32_t>(Shape::Of({0, 0}), {});
  EXPECT_THAT(KernelRunner("ScatterNd").Run1({none, Counting({0, 3}), Ints({3})}), StatusIs(kInvalid, "[0,0]"));
  EXPECT_THAT(KernelRunner("TensorScatterMax").Run1({Counting({3}), none, Counting({0, 3})}),
              StatusIs(kInvalid, "[0,0]"));
}

// As in TensorFlow, the updates are looked at before memory for the result is.
TEST(GatherTest, AScatterIntoAShapeThatNoMemoryHoldsFirstLooksAtItsUpdates) {
  const Tensor row = Tensor::Of<int32_t>(Shape::Of({1, 1}), {0}), pair = Tensor::Of<int32_t>(Shape::Of({1, 2}), {0, 0});
  const Tensor huge = Ints({1 << 30, 1 << 30});
  EXPECT_THAT(KernelRunner("ScatterNd").Run1({row, Counting({1, 1}), huge}), StatusIs(kInvalid, "[1,1]"));
  EXPECT_THAT(KernelRunner("ScatterNd").Run1({pair, Counting({1}), huge}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// As in TensorFlow: params may be the memory of a variable that is overwritten later.
TEST(GatherTest, ALargeRowSharesNothing) {
  const Tensor x = Counting({4, 2048});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Gather").Run1({x, Ints({3})}));
  EXPECT_FALSE(y.SharesBufferWith(x));
  ASSERT_OK_AND_ASSIGN(const Tensor z, KernelRunner("GatherV2").Run1({x, Ints({3}), Int(0)}));
  EXPECT_FALSE(z.SharesBufferWith(x));
  EXPECT_EQ(z.flat<float>()[0], 3 * 2048.0f);
}

TEST(GatherTest, TensorScatterUpdateLeavesASharedInputAlone) {
  const Tensor x = Counting({8});
  const Tensor indices = Tensor::Of<int32_t>(Shape::Of({1, 1}), {2});
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("TensorScatterUpdate").Run1({x, indices, Tensor::Vector<float>({9.0f})}));
  EXPECT_EQ(y.flat<float>()[2], 9.0f);
  EXPECT_EQ(x.flat<float>()[2], 2.0f);
}

TEST(GatherTest, WhereRowsAreEmptyIndicesAreNotLookedAt) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("GatherV2").Run1({Counting({2, 0}), Ints({7}), Int(0)}));
  EXPECT_THAT(Dims(y), ElementsAre(1, 0));
  EXPECT_THAT(KernelRunner("GatherV2").Run1({Counting({0, 2}), Ints({0}), Int(0)}), StatusIs(kInvalid, "no rows"));
  const Tensor none = Tensor::Of<int32_t>(Shape::Of({2, 0}), {});
  EXPECT_THAT(KernelRunner("GatherNd").Run1({Counting({0, 2}), none}), StatusIs(kInvalid, "some elements"));
}

TEST(GatherTest, AScatterTakesNoVectorAsIndices) {
  EXPECT_THAT(KernelRunner("ScatterNd").Run1({Ints({1}), Counting({2}), Ints({3, 2})}), StatusIs(kInvalid, "[1]"));
  EXPECT_THAT(KernelRunner("TensorScatterAdd").Run1({Counting({3}), Ints({1}), Tensor::Scalar(5.0f)}),
              StatusIs(kInvalid, "[1]"));
}

TEST(GatherTest, AScatterHasNothingToDoOrElementsEverywhere) {
  const Tensor zeros = Tensor::Of<int32_t>(Shape::Of({2, 1}), {0, 0});
  const Tensor none = Tensor::Of<int32_t>(Shape::Of({2, 0}), {});
  EXPECT_THAT(KernelRunner("ScatterNd").Run1({zeros, Counting({2, 0}), Ints({2, 0})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("ScatterNd").Run1({none, Counting({2, 3}), Ints({3})}), StatusIs(kInvalid));
  EXPECT_OK(KernelRunner("ScatterNd").Run1({none, Counting({2, 0, 3}), Ints({0, 3})}));
}

TEST(GatherTest, StringsThatMeetAreAppended) {
  const Tensor indices = Tensor::Of<int32_t>(Shape::Of({3, 1}), {1, 1, 0});
  const Tensor updates = Tensor::Vector<TString>({TString("a"), TString("b"), TString("c")});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ScatterNd").Run1({indices, updates, Ints({2})}));
  EXPECT_EQ(y.flat<TString>()[0].view(), "c");
  EXPECT_EQ(y.flat<TString>()[1].view(), "ab");
}

TEST(GatherTest, TheScatterForGradientsTakesAVectorAsRows) {
  const Tensor ones = Tensor::Of<float>(Shape::Of({1, 2}), {1, 1});
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("ScatterNdNonAliasingAdd").Run1({Counting({3, 2}), Ints({2}), ones}));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 1, 2, 3, 5, 6));
}

TEST(GatherTest, BatchesMustBeOfEqualSizes) {
  const Tensor params = Counting({2, 3});
  const Tensor indices = Tensor::Of<int32_t>(Shape::Of({1, 1}), {2});
  EXPECT_THAT(KernelRunner("GatherV2").Attr("batch_dims", 1).Run1({params, indices, Int(1)}),
              IsError(ErrorCode::kOpShapes, "equal sizes in the first 1 dimensions"));
  const Tensor more = Tensor::Of<int32_t>(Shape::Of({3, 1}), {0, 1, 2});
  EXPECT_THAT(KernelRunner("GatherV2").Attr("batch_dims", 1).Run1({params, more, Int(1)}),
              IsError(ErrorCode::kOpShapes));
}

// -1 as a number without a sign, 65535, would be a row of this tensor.
TEST(GatherTest, NegativeShortIndicesAreOutOfRangeOfLargeTensors) {
  const Tensor params = Tensor::MakeZeros(DType::kUInt8, Shape::Of({70000})).value();
  const Tensor indices = Tensor::Vector<int16_t>({int16_t{5}, int16_t{-1}});
  EXPECT_THAT(KernelRunner("GatherV2").Run1({params, indices, Int(0)}),
              IsError(ErrorCode::kOpValue, "index -1 at position 1"));
}

}  // namespace
}  // namespace sluice

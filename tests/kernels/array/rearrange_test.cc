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

TEST(RepeatTest, TileRepeatsEachAxis) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Tile").Run1({Matrix(1, 2, {1, 2}), Ints({2, 2})}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
}

TEST(RepeatTest, TileRefusesSizesThatOverflow) {
  const Tensor huge = Tensor::Vector<int64_t>({int64_t{1} << 61});
  EXPECT_THAT(KernelRunner("Tile").Run1({Counting({8}), huge}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("Tile").Run1({Counting({8}), Ints({-1})}), StatusIs(kInvalid, "'multiples'"));
}

TEST(RepeatTest, BroadcastToRepeatsAxesOfSizeOne) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("BroadcastTo").Run1({Matrix(2, 1, {1, 2}), Ints({2, 2, 2})}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_THAT(KernelRunner("BroadcastTo").Run1({Matrix(2, 1, {1, 2}), Ints({3, 2})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("BroadcastTo").Run1({Matrix(1, 1, {1}), Int(3)}), StatusIs(kInvalid));
}

TEST(PadTest, PadsWithAValue) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("PadV2").Run1({Matrix(1, 2, {1, 2}), Matrix(2, 2, {0, 1, 1, 0}), Int(9)}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(9, 1, 2, 9, 9, 9));
}

TEST(PadTest, MirrorsWithAndWithoutTheEdge) {
  const Tensor x = Ints({1, 2, 3});
  KernelRunner reflect("MirrorPad"), symmetric("MirrorPad");
  reflect.Attr("mode", "REFLECT");
  symmetric.Attr("mode", "SYMMETRIC");
  ASSERT_OK_AND_ASSIGN(const Tensor without, reflect.Run1({x, Matrix(1, 2, {2, 1})}));
  EXPECT_THAT(Values<int32_t>(without), ElementsAre(3, 2, 1, 2, 3, 2));
  ASSERT_OK_AND_ASSIGN(const Tensor with, symmetric.Run1({x, Matrix(1, 2, {2, 1})}));
  EXPECT_THAT(Values<int32_t>(with), ElementsAre(2, 1, 1, 2, 3, 3));
  EXPECT_THAT(reflect.Run1({x, Matrix(1, 2, {3, 0})}), StatusIs(kInvalid, "at most 2"));
}

TEST(PadTest, TheGradientAddsImagesToWhatTheyAreImagesOf) {
  KernelRunner grad("MirrorPadGrad");
  grad.Attr("mode", "SYMMETRIC");
  ASSERT_OK_AND_ASSIGN(const Tensor y, grad.Run1({Ints({1, 10, 100, 1000}), Matrix(1, 2, {1, 1})}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(11, 1100));
}

TEST(ReverseTest, TurnsTheAxesItNames) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ReverseV2").Run1({Matrix(2, 2, {1, 2, 3, 4}), Ints({-1})}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(2, 1, 4, 3));
  EXPECT_THAT(KernelRunner("ReverseV2").Run1({Ints({1}), Ints({0, -1})}), StatusIs(kInvalid, "twice"));
}

TEST(ReverseTest, RollMovesAround) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("Roll").Run1({Matrix(2, 3, {1, 2, 3, 4, 5, 6}), Ints({1, -1}), Ints({0, 1})}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(5, 6, 4, 2, 3, 1));
}

TEST(ReverseTest, SequencesTurnUpToTheirLength) {
  KernelRunner reverse("ReverseSequence");
  reverse.Attr("seq_dim", 1);
  ASSERT_OK_AND_ASSIGN(const Tensor y, reverse.Run1({Matrix(2, 3, {1, 2, 3, 4, 5, 6}), Ints({2, 3})}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(2, 1, 3, 6, 5, 4));
}

TEST(BlocksTest, SpaceGoesToBatchAndBack) {
  const Tensor x = Counting({1, 4, 4, 1});
  const Tensor none = Matrix(2, 2, {0, 0, 0, 0});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("SpaceToBatchND").Run1({x, Ints({2, 2}), none}));
  EXPECT_THAT(Dims(y), ElementsAre(4, 2, 2, 1));
  ASSERT_OK_AND_ASSIGN(const Tensor back, KernelRunner("BatchToSpaceND").Run1({y, Ints({2, 2}), none}));
  EXPECT_EQ(Values<float>(back), Values<float>(x));
  EXPECT_THAT(KernelRunner("SpaceToBatchND").Run1({x, Ints({3, 2}), none}), StatusIs(kInvalid));
}

TEST(BlocksTest, SpaceGoesToDepthAndBack) {
  const Tensor x = Counting({1, 2, 4, 1});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("SpaceToDepth").Attr("block_size", 2).Run1({x}));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  ASSERT_OK_AND_ASSIGN(const Tensor back, KernelRunner("DepthToSpace").Attr("block_size", 2).Run1({y}));
  EXPECT_EQ(Values<float>(back), Values<float>(x));
}

}  // namespace
}  // namespace sluice

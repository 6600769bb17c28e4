#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(SplitTest, CutsAnInnerAxis) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       KernelRunner("Split").Attr("num_split", 2).Run({Int(1), Counting({2, 4})}));
  EXPECT_THAT(Values<float>(y[1]), ElementsAre(2, 3, 6, 7));
}

TEST(SplitTest, LargePartsOfWholeRowsShareTheBuffer) {
  const Tensor x = Counting({4, 4096});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("Split").Attr("num_split", 4).Run({Int(0), x}));
  EXPECT_TRUE(y[3].SharesBufferWith(x));
  EXPECT_EQ(y[3].flat<float>()[0], 3 * 4096.0f);
}

// As in TensorFlow, also where each part lies in one piece: x may be the memory of a variable that is overwritten
// later.
TEST(SplitTest, PartsOfAnInnerAxisShareNothing) {
  const Tensor x = Counting({1, 4, 4096});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("Split").Attr("num_split", 4).Run({Int(1), x}));
  EXPECT_FALSE(y[3].SharesBufferWith(x));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> z,
                       KernelRunner("Unpack").Attr("num", 4).Attr("axis", 1).Run({Tensor(x)}));
  EXPECT_FALSE(z[3].SharesBufferWith(x));
}

TEST(SplitTest, PartsAreOfOneSize) {
  EXPECT_THAT(KernelRunner("Split").Attr("num_split", 2).Run({Int(0), Counting({5})}), StatusIs(kInvalid, "multiple"));
}

TEST(SplitTest, OnePartIsAsLongAsTheWhole) {
  const auto one = [](int32_t size) {
    return KernelRunner("SplitV").Attr("num_split", 1).Run1({Counting({3}), Ints({size}), Int(0)});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor y, one(3));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 1, 2));
  EXPECT_THAT(one(2), StatusIs(kInvalid, "size_splits"));
  EXPECT_THAT(one(-1), StatusIs(kInvalid, "size_splits"));  // As in TensorFlow, which infers a size among several only.
}

TEST(SplitTest, SplitVInfersOneSize) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       KernelRunner("SplitV").Attr("num_split", 3).Run({Counting({5}), Ints({1, -1, 2}), Int(0)}));
  EXPECT_THAT(Values<float>(y[1]), ElementsAre(1, 2));
}

TEST(SplitTest, SplitVRefusesSizesThatDoNotAddUp) {
  for (const std::vector<int32_t>& sizes : std::vector<std::vector<int32_t>>{{1, 1}, {9, -1}, {-1, -1}, {-2, 7}}) {
    EXPECT_THAT(KernelRunner("SplitV").Attr("num_split", 2).Run({Counting({5}), Ints(sizes), Int(0)}),
                StatusIs(kInvalid, "size_splits"));
  }
}

TEST(SplitTest, UnpackGivesTheRows) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       KernelRunner("Unpack").Attr("num", 3).Attr("axis", -1).Run({Counting({2, 3})}));
  EXPECT_THAT(Values<float>(y[2]), ElementsAre(2, 5));
  EXPECT_THAT(KernelRunner("Unpack").Attr("num", 2).Run({Counting({3})}), StatusIs(kInvalid));
}

}  // namespace
}  // namespace sluice

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

TEST(ConcatTest, JoinsAlongAnInnerAxis) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ConcatV2").Run1({Counting({2, 1}), Counting({2, 2}), Int(-1)}));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 0, 1, 1, 2, 3));
}

TEST(ConcatTest, TheOnlyInputThatIsNotEmptyIsTheAnswerWhereNobodyElseNeedsIt) {
  Tensor x = Counting({8, 8});
  const void* const memory = x.raw_data();
  std::vector<Tensor> inputs = {Counting({0, 8}), std::move(x), Int(0)};
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ConcatV2").Run1(std::move(inputs), /*movable=*/true));
  EXPECT_EQ(Values<float>(y), Values<float>(Counting({8, 8})));
  EXPECT_EQ(y.raw_data(), memory);
}

TEST(ConcatTest, RefusesShapesThatDiffer) {
  EXPECT_THAT(KernelRunner("ConcatV2").Run1({Counting({2, 3}), Counting({2, 2}), Int(0)}), StatusIs(kInvalid, "[2,2]"));
  EXPECT_THAT(KernelRunner("ConcatV2").Run1({Counting({2}), Counting({2}), Int(1)}), StatusIs(kInvalid, "'axis'"));
}

// Early graphs hold the axis as a vector of one element; the offsets' was never more than a scalar.
TEST(ConcatTest, TheAxisIsAScalarOrAVectorOfOne) {
  const Tensor matrix = *Ints({0}).Reshaped(*Shape::Make({1, 1}));
  EXPECT_OK(KernelRunner("ConcatV2").Run1({Counting({2}), Counting({2}), Ints({0})}));
  EXPECT_THAT(KernelRunner("ConcatV2").Run1({Counting({2}), Counting({2}), matrix}), StatusIs(kInvalid, "[1,1]"));
  EXPECT_THAT(KernelRunner("ConcatOffset").Run({Ints({0}), Ints({2}), Ints({2})}), StatusIs(kInvalid, "[1]"));
}

TEST(ConcatTest, PackMakesANewAxis) {
  const Tensor a = Counting({2}), b = Ints({});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Pack").Attr("axis", 1).Run1({a, a, a}));
  EXPECT_THAT(Dims(y), ElementsAre(2, 3));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 0, 0, 1, 1, 1));
}

TEST(ConcatTest, PackOfScalarsIsAVector) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Pack").Run1({Int(4), Int(5), Int(6)}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(4, 5, 6));
}

TEST(ConcatTest, OffsetsSayWhereEachPartBegins) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y,
                       KernelRunner("ConcatOffset").Run({Int(1), Ints({2, 3}), Ints({2, 4}), Ints({2, 5})}));
  EXPECT_THAT(Values<int32_t>(y[2]), ElementsAre(0, 7));
  EXPECT_THAT(KernelRunner("ConcatOffset").Run({Ints({1}), Ints({2, 3}), Ints({2, 4})}), StatusIs(kInvalid));
}

}  // namespace
}  // namespace sluice

#include <algorithm>
#include <complex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// The transposition of x, element by element.
std::vector<float> SlowTranspose(const Tensor& x, const std::vector<int32_t>& perm) {
  const size_t rank = perm.size();
  std::vector<int64_t> strides(rank, 1), at(rank, 0);
  for (size_t i = rank - 1; i-- > 0;) strides[i] = strides[i + 1] * x.dim(static_cast<int>(i) + 1);
  std::vector<float> result;
  for (int64_t n = 0; n < x.num_elements(); ++n) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; ++i) from += at[i] * strides[static_cast<size_t>(perm[i])];
    result.push_back(x.flat<float>()[static_cast<size_t>(from)]);
    for (size_t i = rank; i-- > 0;) {
      if (++at[i] < x.dim(perm[i])) break;
      at[i] = 0;
    }
  }
  return result;
}

TEST(TransposeTest, AllOrdersOfFourAxesAreRight) {
  const Tensor x = Counting({5, 33, 2, 40});
  std::vector<int32_t> perm = {0, 1, 2, 3};
  do {
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Transpose").Run1({x, Ints(perm)}));
    ASSERT_EQ(Values<float>(y), SlowTranspose(x, perm)) << ::testing::PrintToString(perm);
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(TransposeTest, AxesOfSizeOneCostNothing) {
  const Tensor x = Counting({1, 64, 1});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Transpose").Run1({x, Ints({2, 1, 0})}));
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST(TransposeTest, RefusesWhatIsNoPermutation) {
  for (const std::vector<int32_t>& perm : std::vector<std::vector<int32_t>>{{0, 0}, {0, 2}, {0, -1}, {0}}) {
    EXPECT_THAT(KernelRunner("Transpose").Run1({Counting({2, 3}), Ints(perm)}), StatusIs(kInvalid, "'perm'"));
  }
}

TEST(TransposeTest, ConjugateTransposeTurnsTheImaginaryParts) {
  const Tensor x = Tensor::Vector<std::complex<float>>({{1, 2}, {3, -4}, {0, 1}});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ConjugateTranspose").Run1({x, Ints({0})}));
  EXPECT_EQ(y.flat<std::complex<float>>()[1], std::complex<float>(3, 4));
  EXPECT_EQ(x.flat<std::complex<float>>()[1], std::complex<float>(3, -4));
}

}  // namespace
}  // namespace sluice

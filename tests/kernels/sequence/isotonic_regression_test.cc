// Rows that never ascend: what TensorFlow 2.19 gives.

#include <cstdint>
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
using ::testing::IsEmpty;

absl::StatusOr<std::vector<Tensor>> Regress(Tensor rows, DType type = DType::kFloat) {
  return KernelRunner("IsotonicRegression").Attr("output_dtype", type).Run({std::move(rows)});
}

TEST(IsotonicRegressionTest, NeighboursThatAscendAreJoined) {
  const Tensor rows = Tensor::Of<float>(Shape::Of({2, 5}), {5, 1, 3, 2, 2, 1, 2, 3, 4, 5});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, Regress(rows));
  EXPECT_THAT(Values<float>(out[0]), ElementsAre(5, 2, 2, 2, 2, 3, 3, 3, 3, 3));
  EXPECT_THAT(Values<int32_t>(out[1]), ElementsAre(0, 1, 1, 2, 3, 0, 0, 0, 0, 0)) << "equal ones stay apart";
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> ints, Regress(Ints({1, 2, 0}), DType::kDouble));
  EXPECT_THAT(Values<double>(ints[0]), ElementsAre(1.5, 1.5, 0));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> empty, Regress(Counting({3, 0})));
  EXPECT_THAT(Dims(empty[1]), ElementsAre(3, 0));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> one, Regress(Tensor::Scalar(7.0f)));
  EXPECT_THAT(Dims(one[0]), IsEmpty());
  EXPECT_THAT(Values<float>(one[0]), ElementsAre(7));
}

}  // namespace
}  // namespace sluice

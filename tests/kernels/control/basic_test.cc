#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(BasicKernelsTest, ConstGivesItsAttr) {
  const absl::StatusOr<Tensor> y =
      KernelRunner("Const").Attr("value", Tensor::Scalar(2.5f)).Attr("dtype", DType::kFloat).Run1({});
  ASSERT_OK(y);
  EXPECT_EQ(*y->AsScalar<float>(), 2.5f);
}

TEST(BasicKernelsTest, IdentityHandsItsBufferOn) {
  const std::vector<float> values(100, 1.0f);
  const Tensor x = Tensor::Vector<float>(values);
  const absl::StatusOr<Tensor> y = KernelRunner("Identity").Run1({x});
  ASSERT_OK(y);
  EXPECT_TRUE(y->SharesBufferWith(x));
}

TEST(BasicKernelsTest, APlaceholderMustBeFed) {
  const absl::StatusOr<Tensor> y = KernelRunner("Placeholder").Attr("dtype", DType::kFloat).Run1({});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice

#include <limits>
#include <utility>
#include <vector>

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

TEST(BasicKernelsTest, NumbersTextsAndListsAreTrueOrFalse) {
  const std::vector<std::pair<Tensor, bool>> cases = {
      {Tensor::Scalar(0.0f), false},
      {Tensor::Scalar(-0.0), false},
      {Tensor::Scalar(std::numeric_limits<float>::quiet_NaN()), true},
      {Tensor::Scalar(int32_t{0}), false},
      {Tensor::Scalar(int64_t{1} << 40), true},
      {Tensor::Scalar(uint8_t{3}), true},
      {Tensor::Scalar(false), false},
      {Tensor::String(""), false},
      {Tensor::String("x"), true},
      {Tensor::Vector<float>({}), false},
      {Tensor::Vector<float>({0}), true},  // It has an element.
  };
  for (const auto& [value, expected] : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ToBool").Run1({value}));
    EXPECT_EQ(*y.AsScalar<bool>(), expected) << value.ToString();
  }
  EXPECT_THAT(KernelRunner("ToBool").Run1({Tensor::Scalar(uint16_t{1})}), IsError(ErrorCode::kOpValue));
}

}  // namespace
}  // namespace sluice

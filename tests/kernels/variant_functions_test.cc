// Variants that are added and zeroed by the kernels of AddN and ZerosLike, whatever their type.

#include "kernels/variant_functions.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "graph/value/tensor.h"
#include "graph/value/variant.h"
#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A host's value: an amount of money.
class Amount final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "test::Amount";
  explicit Amount(int64_t cents) : VariantObject(kTypeName), cents_(cents) {}
  absl::Status Encode(std::string*, std::vector<Tensor>*) const override {
    return absl::UnimplementedError("not written down");
  }
  int64_t cents() const { return cents_; }

 private:
  const int64_t cents_;
};

// A type of which nothing is known.
class Stranger final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "test::Stranger";
  Stranger() : VariantObject(kTypeName) {}
  absl::Status Encode(std::string*, std::vector<Tensor>*) const override {
    return absl::UnimplementedError("not written down");
  }
};

Variant Cents(int64_t cents) { return Variant(MakeCounted<Amount>(cents)); }

Tensor Of(std::vector<Variant> values, const Shape& shape = Shape()) {
  Tensor tensor = *Tensor::Make(DType::kVariant, shape);
  for (size_t i = 0; i < values.size(); ++i) tensor.flat<Variant>()[i] = values[i];
  return tensor;
}

VariantFunctions AmountFunctions() {
  VariantFunctions functions;
  functions.type_name = std::string(Amount::kTypeName);
  functions.add = [](const KernelContext&, const VariantObject& a, const VariantObject& b) -> absl::StatusOr<Variant> {
    const int64_t sum = static_cast<const Amount&>(a).cents() + static_cast<const Amount&>(b).cents();
    if (sum > 1000) return absl::OutOfRangeError("too much money");
    return Cents(sum);
  };
  functions.zeros_like = [](const KernelContext&, const VariantObject&) -> absl::StatusOr<Variant> { return Cents(0); };
  return functions;
}

class VariantFunctionsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { EXPECT_OK(AddVariantFunctions(AmountFunctions())); }
  static absl::StatusOr<Tensor> AddN(std::vector<Tensor> inputs) {
    KernelRunner runner("AddN");
    return runner.Attr("N", static_cast<int64_t>(inputs.size())).Run1(std::move(inputs));
  }
};

TEST_F(VariantFunctionsTest, ValuesAreAdded) {
  const int64_t live = VariantObject::LiveCount();
  {
    ASSERT_OK_AND_ASSIGN(const Tensor sum, AddN({Of({Cents(1)}), Of({Cents(20)}), Of({Cents(300)})}));
    EXPECT_TRUE(sum.shape().IsScalar());
    ASSERT_NE(sum.flat<Variant>()[0].Get<Amount>(), nullptr);
    EXPECT_EQ(sum.flat<Variant>()[0].Get<Amount>()->cents(), 321);
    ASSERT_OK_AND_ASSIGN(const Tensor one, AddN({Of({Cents(7)})}));
    EXPECT_EQ(one.flat<Variant>()[0].Get<Amount>()->cents(), 7);
  }
  EXPECT_EQ(VariantObject::LiveCount(), live);
}

TEST_F(VariantFunctionsTest, ValuesHaveZeros) {
  ASSERT_OK_AND_ASSIGN(const Tensor zero, KernelRunner("ZerosLike").Run1({Of({Cents(5)})}));
  ASSERT_NE(zero.flat<Variant>()[0].Get<Amount>(), nullptr);
  EXPECT_EQ(zero.flat<Variant>()[0].Get<Amount>()->cents(), 0);
}

TEST_F(VariantFunctionsTest, WhatCannotBeAddedIsAnError) {
  EXPECT_THAT(AddN({Of({Cents(999)}), Of({Cents(2)})}), StatusIs(absl::StatusCode::kOutOfRange, "too much money"));
  const Tensor stranger = Of({Variant(MakeCounted<Stranger>())});
  EXPECT_THAT(AddN({stranger, stranger}), IsError(ErrorCode::kOpBroken, "test::Stranger"));
  EXPECT_THAT(AddN({Of({Cents(1)}), stranger}), IsError(ErrorCode::kOpBroken, "test::Amount"));
  EXPECT_THAT(AddN({Of({Cents(1)}), Of({Variant()})}), IsError(ErrorCode::kOpBroken, "without a value"));
  const Tensor vector = Of({Cents(1), Cents(2)}, Shape::Of({2}));
  EXPECT_THAT(AddN({vector, vector}), IsError(ErrorCode::kOpShape));
}

TEST_F(VariantFunctionsTest, WhatHasNoZeroIsAnError) {
  EXPECT_THAT(KernelRunner("ZerosLike").Run1({Of({Variant(MakeCounted<Stranger>())})}),
              IsError(ErrorCode::kOpBroken, "test::Stranger"));
  EXPECT_THAT(KernelRunner("ZerosLike").Run1({Of({Variant()})}), IsError(ErrorCode::kOpBroken));
  EXPECT_THAT(KernelRunner("ZerosLike").Run1({Of({Cents(1), Cents(2)}, Shape::Of({2}))}), IsError(ErrorCode::kOpShape));
}

TEST_F(VariantFunctionsTest, ATypeHasItsFunctionsOnce) {
  EXPECT_THAT(AddVariantFunctions(AmountFunctions()), IsError(ErrorCode::kHostKernel, "test::Amount"));
  EXPECT_THAT(AddVariantFunctions(VariantFunctions()), IsError(ErrorCode::kHostKernel));
}

}  // namespace
}  // namespace sluice

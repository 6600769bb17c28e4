#include "graph/value/dtype.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(DTypeTest, EveryNumberHasAName) {
  for (int number = 1; number <= 30; ++number) {
    const DType dtype = DTypeFromNumber(number);
    EXPECT_EQ(static_cast<int>(dtype), number);
    ASSERT_OK_AND_ASSIGN(const DType by_name, ParseDType(DTypeName(dtype)));
    EXPECT_EQ(by_name, dtype);
  }
}

TEST(DTypeTest, ReferencesAreTheNumberPlus100) {
  EXPECT_EQ(DTypeFromNumber(101), RefType(DType::kFloat));
  EXPECT_EQ(BaseType(DTypeFromNumber(107)), DType::kString);
  EXPECT_EQ(DTypeName(RefType(DType::kFloat)), "float32&");
  ASSERT_OK_AND_ASSIGN(const DType parsed, ParseDType("DT_INT64_REF"));
  EXPECT_EQ(parsed, RefType(DType::kInt64));
}

TEST(DTypeTest, UnknownNumbersAreInvalid) {
  for (const int64_t number : {int64_t{0}, int64_t{-1}, int64_t{31}, int64_t{100}, int64_t{131}, int64_t{9999},
                               int64_t{1} << 40, (int64_t{1} << 32) + 1}) {
    EXPECT_EQ(DTypeFromNumber(number), DType::kInvalid) << number;
  }
  EXPECT_THAT(ParseDType("floaty"), IsError(ErrorCode::kTensorDType, "'floaty'"));
  EXPECT_THAT(ParseDType(""), IsError(ErrorCode::kTensorDType));
}

TEST(DTypeTest, AliasesAreRead) {
  ASSERT_OK_AND_ASSIGN(const DType f, ParseDType("float"));
  ASSERT_OK_AND_ASSIGN(const DType h, ParseDType("half"));
  ASSERT_OK_AND_ASSIGN(const DType i, ParseDType("i64"));
  EXPECT_EQ(f, DType::kFloat);
  EXPECT_EQ(h, DType::kHalf);
  EXPECT_EQ(i, DType::kInt64);
}

TEST(DTypeTest, SizesAreThoseOfTheElementTypes) {
  EXPECT_EQ(DTypeSize(DType::kString), sizeof(TString));
  EXPECT_EQ(DTypeSize(DType::kResource), sizeof(ResourceHandle));
  EXPECT_EQ(DTypeSize(DType::kVariant), sizeof(Variant));
  EXPECT_EQ(DTypeSize(DType::kComplex128), 16u);
  EXPECT_EQ(DTypeSize(DType::kQUInt16), sizeof(QUInt16));
  EXPECT_EQ(DTypeSize(DType::kFloat8E5M2), 0u);
  EXPECT_EQ(DTypeSize(DType::kInvalid), 0u);
}

TEST(DTypeTest, EachSupportedDTypeIsInOneClass) {
  for (int number = 1; number <= 23; ++number) {
    const DType t = DTypeFromNumber(number);
    const int classes =
        IsFloating(t) + IsComplex(t) + IsInteger(t) + IsQuantized(t) + (t == DType::kBool) + !IsTrivial(t);
    EXPECT_EQ(classes, 1) << DTypeName(t);
  }
  EXPECT_FALSE(IsTrivial(DType::kInt4));
  EXPECT_FALSE(IsSupported(DType::kFloat8E4M3FN));
}

TEST(Float16Test, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half = Half::FromBits(static_cast<uint16_t>(bits));
    const float value = static_cast<float>(half);
    const Half back(value);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back)));
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

TEST(Float16Test, HalfRoundsToNearestEven) {
  EXPECT_EQ(Half(1.0f).bits, 0x3c00);
  EXPECT_EQ(Half(-2.0f).bits, 0xc000);
  EXPECT_EQ(Half(1.0f + 0x1p-11f).bits, 0x3c00);    // A tie, to the even side below.
  EXPECT_EQ(Half(1.0f + 0x3p-11f).bits, 0x3c02);    // A tie, to the even side above.
  EXPECT_EQ(Half(1.0f + 0x1.1p-11f).bits, 0x3c01);  // Above the tie.
  EXPECT_EQ(Half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
  EXPECT_EQ(Half(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(Half(0x1p-25f).bits, 0x0000);    // A tie, to zero.
  EXPECT_EQ(Half(0x1.8p-24f).bits, 0x0002);  // A tie, to two units.
  EXPECT_EQ(Half(-0.0f).bits, 0x8000);
}

TEST(Float16Test, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.0f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.0f + 0x3p-8f).bits, 0x3f82);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(std::nanf("")).bits, 0x7fc0);
  EXPECT_EQ(static_cast<float>(BFloat16::FromBits(0xc040)), -3.0f);
}

}  // namespace
}  // namespace sluice

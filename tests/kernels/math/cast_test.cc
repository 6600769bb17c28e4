#include <complex>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

template <typename To, typename From>
std::vector<To> Cast(const std::vector<From>& values, bool truncate = false) {
  const absl::StatusOr<Tensor> y = KernelRunner("Cast")
                                       .Attr("DstT", DTypeOf<To>::value)
                                       .Attr("Truncate", truncate)
                                       .Run1({Tensor::Vector<From>(values)});
  EXPECT_OK(y.status());
  if (!y.ok()) return {};
  const absl::Span<const To> found = y->flat<To>();
  return std::vector<To>(found.begin(), found.end());
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(CastTest, FloatsOutOfRangeGiveWhatTheProcessorGives) {
  const std::vector<double> x = {3e9, -3e9, 1e20, kNan, 300, -5.9};
  constexpr int32_t kMin32 = std::numeric_limits<int32_t>::min();
  EXPECT_EQ((Cast<int32_t, double>(x)), (std::vector<int32_t>{kMin32, kMin32, kMin32, kMin32, 300, -5}));
  EXPECT_EQ((Cast<uint8_t, double>(x)), (std::vector<uint8_t>{0, 0, 0, 0, 44, 251}));
  EXPECT_EQ((Cast<uint32_t, double>(x)), (std::vector<uint32_t>{3000000000u, 1294967296u, 0, 0, 300, 4294967291u}));
  constexpr uint64_t kTop = uint64_t{1} << 63;
  EXPECT_EQ((Cast<uint64_t, double>(x)),
            (std::vector<uint64_t>{3000000000u, uint64_t{0} - 3000000000u, kTop, kTop, 300, uint64_t{0} - 5}));
}

TEST(CastTest, IntegersAreCutToTheirLowBits) {
  EXPECT_EQ((Cast<int8_t, int32_t>({300, -129, 127})), (std::vector<int8_t>{44, 127, 127}));
  EXPECT_EQ((Cast<uint64_t, int8_t>({-1})), (std::vector<uint64_t>{~uint64_t{0}}));
}

TEST(CastTest, AnythingButZeroIsTrue) {
  EXPECT_EQ((Cast<bool, double>({0.0, -0.0, 0.1, kNan})), (std::vector<bool>{false, false, true, true}));
}

TEST(CastTest, TruncateRoundsTowardZero) {
  EXPECT_EQ((Cast<float, double>({1.99999999, -1.99999999}, true)),
            (std::vector<float>{0x1.fffffep0f, -0x1.fffffep0f}));
  EXPECT_EQ((Cast<float, double>({1.99999999}, false)), (std::vector<float>{2.0f}));
  EXPECT_EQ((Cast<Half, float>({65519.0f}, true))[0].bits, Half(65504.0f).bits);
  EXPECT_EQ((Cast<std::complex<float>, double>({17.5, 1.1}, true)), (std::vector<std::complex<float>>{8.0f, 0.5f}));
}

TEST(CastTest, ComplexNumbersLoseTheirImaginaryPart) {
  EXPECT_EQ((Cast<float, std::complex<double>>({{1.5, 2.0}})), (std::vector<float>{1.5f}));
  EXPECT_EQ((Cast<std::complex<float>, int32_t>({-3})), (std::vector<std::complex<float>>{{-3, 0}}));
}

TEST(CastTest, TheSameDtypeKeepsItsBuffer) {
  const Tensor x = Tensor::Vector<float>(std::vector<float>(100, 1.0f));
  const absl::StatusOr<Tensor> y = KernelRunner("Cast").Attr("DstT", DType::kFloat).Run1({x});
  ASSERT_OK(y);
  EXPECT_TRUE(y->SharesBufferWith(x));
}

TEST(BitcastTest, ALastAxisAppearsAndGoesAway) {
  const Tensor x = Tensor::Vector<int64_t>({1, -1, 2});
  const absl::StatusOr<Tensor> parts = KernelRunner("Bitcast").Attr("type", DType::kInt16).Run1({x});
  ASSERT_OK(parts);
  EXPECT_EQ(parts->shape(), Shape::Of({3, 4}));
  const absl::StatusOr<Tensor> back = KernelRunner("Bitcast").Attr("type", DType::kInt64).Run1({*parts});
  ASSERT_OK(back);
  EXPECT_EQ(back->bytes(), x.bytes());
  EXPECT_EQ(
      KernelRunner("Bitcast").Attr("type", DType::kInt64).Run1({Tensor::Vector<int32_t>({1, 2, 3})}).status().code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice

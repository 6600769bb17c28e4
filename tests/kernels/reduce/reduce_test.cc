#include <cmath>
#include <complex>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr float kInf = std::numeric_limits<float>::infinity();

// The sum of x over the axes that `reduced` marks, added up as double, one after the other.
std::vector<double> SlowSum(const Tensor& x, const std::vector<bool>& reduced) {
  int64_t size = 1;
  for (size_t i = 0; i < reduced.size(); ++i) size *= reduced[i] ? 1 : x.dim(static_cast<int>(i));
  std::vector<double> sums(static_cast<size_t>(size), 0.0);
  for (int64_t n = 0; n < x.num_elements(); ++n) {
    int64_t rest = n, to = 0, stride = 1;
    for (size_t i = reduced.size(); i-- > 0;) {
      const int64_t dim = x.dim(static_cast<int>(i));
      if (!reduced[i]) {
        to += rest % dim * stride;
        stride *= dim;
      }
      rest /= dim;
    }
    sums[static_cast<size_t>(to)] += x.flat<float>()[static_cast<size_t>(n)];
  }
  return sums;
}

TEST(ReduceTest, SumsOverAnyAxesAreRight) {
  const Tensor x = Counting({3, 4, 5, 130});
  for (int bits = 0; bits < 16; ++bits) {
    std::vector<int32_t> axes;
    std::vector<bool> reduced(4);
    for (int i = 0; i < 4; ++i) {
      reduced[static_cast<size_t>(i)] = (bits >> i & 1) != 0;
      if ((bits >> i & 1) != 0) axes.push_back(i - (i % 2) * 4);
    }
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Sum").Run1({x, Ints(axes)}));
    const std::vector<double> wanted = SlowSum(x, reduced);
    ASSERT_EQ(y.num_elements(), static_cast<int64_t>(wanted.size()));
    for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(y.flat<float>()[i], wanted[i], 1e-6 * wanted[i]) << bits;
  }
}

TEST(ReduceTest, ALongSumOfFloatsIsAccurate) {
  const std::vector<float> tenths(10'000'000, 0.1f);
  const Tensor x = Tensor::Vector<float>(tenths);
  ASSERT_OK_AND_ASSIGN(const Tensor row, KernelRunner("Sum").Run1({x, Int(0)}));
  EXPECT_NEAR(*row.AsScalar<float>(), 1e6, 0.2);
  ASSERT_OK_AND_ASSIGN(const Tensor columns, x.Reshaped(Shape::Of({5'000'000, 2})));
  ASSERT_OK_AND_ASSIGN(const Tensor two, KernelRunner("Sum").Run1({columns, Int(0)}));
  EXPECT_NEAR(two.flat<float>()[1], 5e5, 0.1);
}

TEST(ReduceTest, KeepDimsKeepsThem) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Max").Attr("keep_dims", true).Run1({Counting({2, 3}), Int(-1)}));
  EXPECT_THAT(Dims(y), ElementsAre(2, 1));
  EXPECT_THAT(Values<float>(y), ElementsAre(2, 5));
}

TEST(ReduceTest, AxesMustBeThereAndBeNamedOnce) {
  for (const std::vector<int32_t>& axes : std::vector<std::vector<int32_t>>{{2}, {-3}, {0, 0}, {1, -1}}) {
    EXPECT_THAT(KernelRunner("Sum").Run1({Counting({2, 3}), Ints(axes)}), StatusIs(kInvalid, "reduction_indices"));
  }
}

TEST(ReduceTest, NothingReducesToTheNeutralElement) {
  const Tensor none = Counting({0});
  const auto reduce = [&](const char* op) { return *KernelRunner(op).Run1({none, Int(0)})->AsScalar<float>(); };
  EXPECT_EQ(reduce("Sum"), 0.0f);
  EXPECT_EQ(reduce("Prod"), 1.0f);
  EXPECT_EQ(reduce("Max"), -kInf);
  EXPECT_EQ(reduce("Min"), kInf);
  EXPECT_TRUE(std::isnan(reduce("Mean")));
}

TEST(ReduceTest, MeansOfComplexNumbersAreDividedByAComplexNumber) {
  using Complex = std::complex<float>;
  const auto mean = [](std::vector<Complex> x) {
    return *KernelRunner("Mean").Run1({Tensor::Vector<Complex>(x), Int(0)})->AsScalar<Complex>();
  };
  EXPECT_EQ(mean({}), Complex(0, 0));
  EXPECT_EQ(mean({{1, 2}, {4, -6}}), Complex(2.5f, -2));
  EXPECT_EQ(mean({{-kInf, 2}, {4, 6}}).real(), -kInf);
  EXPECT_TRUE(std::isnan(mean({{-kInf, 2}, {4, 6}}).imag()));
}

TEST(ReduceTest, ANaNWins) {
  std::vector<float> values(100, 1.0f);
  values[70] = std::nanf("");
  const Tensor x = Tensor::Vector<float>(values);
  EXPECT_TRUE(std::isnan(*KernelRunner("Max").Run1({x, Int(0)})->AsScalar<float>()));
  EXPECT_TRUE(std::isnan(*KernelRunner("Min").Run1({x, Int(0)})->AsScalar<float>()));
}

TEST(ReduceTest, IntegersWrapAndTheirMeanIsTruncated) {
  const Tensor x = Tensor::Vector<int8_t>({100, 100, -7});
  EXPECT_EQ(*KernelRunner("Sum").Run1({x, Int(0)})->AsScalar<int8_t>(), static_cast<int8_t>(193));
  EXPECT_EQ(*KernelRunner("Mean").Run1({x, Int(0)})->AsScalar<int8_t>(), 64);
  EXPECT_EQ(*KernelRunner("Mean").Run1({Ints({-1, -2}), Int(0)})->AsScalar<int32_t>(), -1);
}

TEST(ReduceTest, TheNormOfComplexNumbersIsReal) {
  const Tensor x = Tensor::Vector<std::complex<float>>({{3, 4}, {0, 12}});
  EXPECT_EQ(*KernelRunner("EuclideanNorm").Run1({x, Int(0)})->AsScalar<std::complex<float>>(),
            std::complex<float>(13, 0));
}

TEST(ReduceTest, BoolsAreJoined) {
  const Tensor x = Tensor::Of<bool>(Shape::Of({2, 2}), {true, false, true, true});
  ASSERT_OK_AND_ASSIGN(const Tensor all, KernelRunner("All").Run1({x, Int(1)}));
  EXPECT_THAT(Values<bool>(all), ElementsAre(false, true));
}

// As in TensorFlow, where the search begins with the lowest finite number (the largest for ArgMin).
TEST(ReduceTest, ArgMaxAndArgMinDoNotTellInfinitiesFromLimits) {
  const float inf = std::numeric_limits<float>::infinity(), max = std::numeric_limits<float>::max();
  const Tensor x = Tensor::Of<float>(Shape::Of({4, 2}), {-inf, -max, inf, max, -1, -inf, max, inf});
  ASSERT_OK_AND_ASSIGN(const Tensor largest, KernelRunner("ArgMax").Run1({x, Int(1)}));
  EXPECT_THAT(Values<int64_t>(largest), ElementsAre(0, 0, 0, 1));
  ASSERT_OK_AND_ASSIGN(const Tensor smallest, KernelRunner("ArgMin").Run1({x, Int(1)}));
  EXPECT_THAT(Values<int64_t>(smallest), ElementsAre(0, 0, 1, 0));
}

// TensorFlow's answers.
TEST(ReduceTest, CumulativeLogsumexpOfInfinities) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::Of<float>(Shape::Of({5, 2}), {inf, inf, -inf, -inf, inf, -inf, -inf, inf, 0, inf});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("CumulativeLogsumexp").Run1({x, Int(1)}));
  const std::vector<float> values = Values<float>(y);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ((std::vector<float>{values[3], values[5], values[7], values[9]}),
            (std::vector<float>{-inf, inf, inf, inf}));
}

TEST(ReduceTest, ArgMaxTakesTheFirstOfEquals) {
  const Tensor x = Tensor::Of<float>(Shape::Of({2, 3}), {1, 7, 7, 3, 2, 3});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ArgMax").Run1({x, Int(1)}));
  EXPECT_THAT(Values<int64_t>(y), ElementsAre(1, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor rows, KernelRunner("ArgMin").Run1({x, Int(0)}));
  EXPECT_THAT(Values<int64_t>(rows), ElementsAre(0, 1, 1));
  EXPECT_THAT(KernelRunner("ArgMax").Run1({Counting({2, 0}), Int(1)}), StatusIs(kInvalid));
}

TEST(ReduceTest, CumsumGoesBothWays) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Cumsum").Run1({Counting({4}), Int(0)}));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 1, 3, 6));
  KernelRunner back("Cumsum");
  back.Attr("reverse", true).Attr("exclusive", true);
  ASSERT_OK_AND_ASSIGN(const Tensor z, back.Run1({Counting({4}), Int(0)}));
  EXPECT_THAT(Values<float>(z), ElementsAre(6, 5, 3, 0));
}

TEST(ReduceTest, SquaresAndSumsOfHalvesOverflow) {
  const Tensor x = Tensor::Vector<Half>({Half(100.0f), Half(300.0f)});
  EXPECT_EQ(KernelRunner("EuclideanNorm").Run1({x, Int(0)})->AsScalar<Half>()->bits, Half(kInf).bits);
}

TEST(ReduceTest, ACumulativeSumIsRoundedAtEachStep) {
  const BFloat16 one(1.0f);
  const Tensor x = Tensor::Vector<BFloat16>({BFloat16(256.0f), one, one, one, one});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Cumsum").Run1({x, Int(0)}));
  EXPECT_EQ(y.flat<BFloat16>()[4].bits, BFloat16(256.0f).bits);
}

TEST(SegmentTest, TheMeanOfIntegersWraps) {
  const Tensor x = Tensor::Vector<int8_t>({100, 100, 3, -7, 5});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("SegmentMean").Run1({x, Ints({0, 0, 1, 1, 3})}));
  EXPECT_THAT(Values<int8_t>(y), ElementsAre(-28, -2, 0, 5));
}

TEST(SegmentTest, ANaNStaysOnlyAtTheEnd) {
  const float nan = std::nanf("");
  const Tensor x = Tensor::Vector<float>({nan, 1.0f, 2.0f, nan});
  for (const char* op : {"SegmentMax", "SegmentMin"}) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner(op).Run1({x, Ints({0, 0, 1, 1})}));
    EXPECT_EQ(y.flat<float>()[0], 1.0f) << op;
    EXPECT_TRUE(std::isnan(y.flat<float>()[1])) << op;
  }
}

TEST(SegmentTest, HalvesAreRoundedAtEachStep) {
  const BFloat16 one(1.0f);
  const Tensor x = Tensor::Vector<BFloat16>({BFloat16(256.0f), one, one, one, one});
  EXPECT_EQ(KernelRunner("SegmentSum").Run1({x, Ints({0, 0, 0, 0, 0})})->flat<BFloat16>()[0].bits,
            BFloat16(256.0f).bits);
  EXPECT_EQ(KernelRunner("SegmentMean").Run1({x, Ints({0, 0, 0, 0, 0})})->flat<BFloat16>()[0].bits,
            BFloat16(51.25f).bits);
}

TEST(SegmentTest, GroupsInAnyOrderStartFromTheLowestNumber) {
  const Tensor x = Tensor::Vector<float>({-kInf});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("UnsortedSegmentMax").Run1({x, Ints({0}), Int(2)}));
  EXPECT_THAT(Values<float>(y), ::testing::Each(std::numeric_limits<float>::lowest()));
  EXPECT_OK(KernelRunner("UnsortedSegmentMax").Run1({Counting({1, 0}), Ints({9}), Int(2)}));
  EXPECT_THAT(KernelRunner("UnsortedSegmentMax").Run1({x, Ints({9}), Int(2)}), StatusIs(kInvalid, "9 at 0"));
}

}  // namespace
}  // namespace sluice

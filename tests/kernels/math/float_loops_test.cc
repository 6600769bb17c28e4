#include "kernels/math/float_loops.h"

#include <xmmintrin.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

// The tables that this machine can run, the best last; denormals count as zero, as in a run.
class FloatLoopsTest : public testing::Test {
 protected:
  FloatLoopsTest() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FloatLoopsTest() override { _mm_setcsr(saved_); }

  static std::vector<const FloatLoops*> Tables() {
    std::vector<const FloatLoops*> tables = {&kBaseFloatLoops};
    if (&BestFloatLoops() != &kBaseFloatLoops) tables.push_back(&kAvx2FloatLoops);
    if (&BestFloatLoops() == &kAvx512FloatLoops) tables.push_back(&kAvx512FloatLoops);
    return tables;
  }

  template <typename Op>
  static std::vector<float> Run(const FloatLoops& table, const std::vector<float>& x) {
    std::vector<float> y(x.size());
    table.unary[IndexIn<Op>(FloatUnaryOps())].loop(x.data(), y.data(), static_cast<int64_t>(x.size()));
    return y;
  }

  // Expects results within `max_ulps` units in the last place of `exact`, from `low` to `high` and in all tables.
  template <typename Op>
  static void ExpectAccurate(double (*exact)(double), float low, float high, double max_ulps) {
    constexpr int kCount = 100003;
    std::vector<float> x(kCount);
    for (int i = 0; i < kCount; ++i) x[i] = low + (high - low) * static_cast<float>(i) / kCount;
    for (const FloatLoops* table : Tables()) {
      const std::vector<float> y = Run<Op>(*table, x);
      for (int i = 0; i < kCount; ++i) {
        const double wanted = exact(static_cast<double>(x[i]));
        const double ulp = std::ldexp(1.0, std::max(std::ilogb(wanted), -126) - 23);
        ASSERT_LE(std::fabs(y[i] - wanted), max_ulps * ulp) << table->isa << " at " << x[i];
      }
    }
  }

  // Expects exactly these results (NaN for NaN), in all tables.
  template <typename Op>
  static void ExpectValues(const std::vector<float>& x, const std::vector<float>& wanted) {
    for (const FloatLoops* table : Tables()) {
      const std::vector<float> y = Run<Op>(*table, x);
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(y[i] == wanted[i] || (std::isnan(y[i]) && std::isnan(wanted[i])))
            << table->isa << " of " << x[i] << ": " << y[i];
      }
    }
  }

  static constexpr float kInf = std::numeric_limits<float>::infinity();
  static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

 private:
  const unsigned saved_;
};

TEST_F(FloatLoopsTest, ExponentialsAreAccurate) {
  ExpectAccurate<ExpOp>([](double x) { return std::exp(x); }, -87.3f, 88.7f, 1.5);
  ExpectAccurate<Expm1Op>([](double x) { return std::expm1(x); }, -20.0f, 88.0f, 2.0);
  ExpectAccurate<Expm1Op>([](double x) { return std::expm1(x); }, -0.01f, 0.01f, 2.0);
}

TEST_F(FloatLoopsTest, LogarithmsAreAccurate) {
  ExpectAccurate<LogOp>([](double x) { return std::log(x); }, 1e-3f, 3.0f, 1.5);
  ExpectAccurate<LogOp>([](double x) { return std::log(x); }, 1.0f, 1e30f, 1.5);
  ExpectAccurate<Log1pOp>([](double x) { return std::log1p(x); }, -0.99f, 5.0f, 2.0);
  ExpectAccurate<Log1pOp>([](double x) { return std::log1p(x); }, -1e-5f, 1e-5f, 2.0);
}

TEST_F(FloatLoopsTest, SigmoidalFunctionsAreAccurate) {
  ExpectAccurate<TanhOp>([](double x) { return std::tanh(x); }, -12.0f, 12.0f, 4.0);
  ExpectAccurate<SigmoidOp>([](double x) { return 1 / (1 + std::exp(-x)); }, -80.0f, 20.0f, 3.0);
  ExpectAccurate<ErfOp>([](double x) { return std::erf(x); }, -5.0f, 5.0f, 3.5);
  ExpectAccurate<ErfcOp>([](double x) { return std::erfc(x); }, -5.0f, 9.0f, 6.0);
}

TEST_F(FloatLoopsTest, ExtremesAreThoseOfTheLimits) {
  ExpectValues<ExpOp>({kInf, -kInf, kNan, 0, 89, -104, 1e-40f}, {kInf, 0, kNan, 1, kInf, 0, 1});
  ExpectValues<Expm1Op>({kInf, -kInf, kNan, 1.2e-38f, -1.2e-38f}, {kInf, -1, kNan, 1.2e-38f, -1.2e-38f});
  ExpectValues<LogOp>({kInf, -kInf, kNan, 0, -0.0f, 1, -1, 1e-40f}, {kInf, kNan, kNan, -kInf, -kInf, 0, kNan, -kInf});
  ExpectValues<Log1pOp>({kInf, -1, -2, kNan, 0, 1e-30f}, {kInf, -kInf, kNan, kNan, 0, 1e-30f});
  ExpectValues<TanhOp>({kInf, -kInf, kNan, 100, -100, 1e-30f}, {1, -1, kNan, 1, -1, 1e-30f});
  ExpectValues<SigmoidOp>({kInf, -kInf, kNan, 0}, {1, 0, kNan, 0.5f});
  ExpectValues<ErfOp>({kInf, -kInf, kNan, 0}, {1, -1, kNan, 0});
  ExpectValues<ErfcOp>({kInf, -kInf, kNan, 0}, {0, 2, kNan, 1});
  ExpectValues<SoftplusOp>({kInf, -kInf, kNan}, {kInf, 0, kNan});
}

TEST_F(FloatLoopsTest, SoftmaxRowsAddUpToOneForEveryLength) {
  for (const FloatLoops* table : Tables()) {
    for (int64_t n : {1, 2, 31, 32, 33, 100, 1000}) {
      std::vector<float> x(n);
      for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 17) - 300.0f;
      std::vector<float> y(n), log_y(n);
      table->softmax(x.data(), y.data(), n);
      table->log_softmax(x.data(), log_y.data(), n);
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        sum += y[i];
        EXPECT_NEAR(std::log(y[i]), log_y[i], 1e-5) << table->isa;
      }
      EXPECT_NEAR(sum, 1.0, 1e-5) << table->isa << " " << n;
    }
  }
}

// The vector loop and the scalar one that ends it are compiled apart: they may choose different NaNs.
TEST_F(FloatLoopsTest, NansAreTheSameInLoopsOfAllLengths) {
  const auto bits_of = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  };
  for (const FloatLoops* table : Tables()) {
    for (size_t op = 0; op < std::size(table->unary); ++op) {
      if (table->unary[op].out_size != sizeof(float)) continue;
      for (const float nan : {kNan, -kNan, std::nanf("0x123")}) {
        const std::vector<float> x(67, nan);
        std::vector<float> y(67);
        float alone = 0;
        table->unary[op].loop(&nan, &alone, 1);
        table->unary[op].loop(x.data(), y.data(), 67);
        for (const float element : y) ASSERT_EQ(bits_of(element), bits_of(alone)) << table->isa << " op " << op;
      }
    }
  }
}

}  // namespace
}  // namespace sluice

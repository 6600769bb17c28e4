#include "kernels/math/bessel.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "graph/value/float16.h"
#include "gtest/gtest.h"
#include "kernels/math/integrals.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace special {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPoints[] = {0.5, 3, 30};

struct Known {
  const char* name;
  double (*function)(double);
  double values[3];  // At kPoints: what TensorFlow 2.19 gives in double.
};

constexpr Known kKnown[] = {
    {"I0", &BesselI0, {1.0634833707413238, 4.880792585865024, 781672297823.9774}},
    {"I0e", &BesselI0e, {0.6450352704491502, 0.24300035416182536, 0.07314594648223728}},
    {"I1", &BesselI1, {0.2578943053908962, 3.9533702174026093, 768532038938.9568}},
    {"I1e", &BesselI1e, {0.15642080318487162, 0.19682671329730084, 0.07191633059864753}},
    {"J0", &BesselJ0, {0.938469807240813, -0.2600519549019335, -0.08636798358104031}},
    {"J1", &BesselJ1, {0.24226845767487387, 0.33905895852593654, -0.11875106261662303}},
    {"K0", &BesselK0, {0.9244190712276663, 0.03473950438627925, 2.132477496463056e-14}},
    {"K0e", &BesselK0e, {1.5241093857739103, 0.6977615980438517, 0.2278866656162537}},
    {"K1", &BesselK1, {1.6564411200033013, 0.0401564311281942, 2.1677320018915495e-14}},
    {"K1e", &BesselK1e, {2.7310097082117863, 0.8065634801287871, 0.2316541293777118}},
    {"Y0", &BesselY0, {-0.4445187335067066, 0.3768500100127906, -0.11729573168666396}},
    {"Y1", &BesselY1, {-1.4714723926702433, 0.3246744247918001, 0.08442557066174712}},
    {"Dawsn", &Dawsn, {0.4244363835020223, 0.17827103061055835, 0.016675941401059175}},
    {"Expint", &Expint, {0.45421990486317354, 9.933832570625416, 368973209407.2742}},
    {"FresnelCos", &FresnelCos, {0.4923442258714464, 0.6057207892976857, 0.4999962473706091}},
    {"FresnelSin", &FresnelSin, {0.06473243285999929, 0.49631299896737496, 0.4893896744421938}},
    {"Spence", &Spence, {0.5822405264650135, -1.4367463668836808, -7.280084707384272}},
};

TEST(BesselTest, KnownValues) {
  for (const Known& known : kKnown) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(known.function(kPoints[i]), known.values[i], 2e-12 * std::fabs(known.values[i]))
          << known.name << " of " << kPoints[i];
    }
    EXPECT_TRUE(std::isnan(known.function(std::nan("")))) << known.name;
  }
}

TEST(BesselTest, EndsAreTensorFlows) {
  for (const double below : {0.0, -0.0, -2.0, -kInf}) {
    for (const auto k : {&BesselK0, &BesselK0e, &BesselK1, &BesselK1e}) EXPECT_EQ(k(below), kInf);
    for (const auto y : {&BesselY0, &BesselY1}) EXPECT_EQ(y(below), -kInf);
  }
  for (const auto f : {&BesselI0, &BesselI1, &BesselJ0, &BesselJ1, &BesselY0, &Expint, &Spence}) {
    EXPECT_TRUE(std::isnan(f(kInf)));
  }
  for (const auto f : {&BesselI0e, &BesselI1e, &BesselK0, &BesselK1e}) EXPECT_EQ(f(kInf), 0);
  for (const auto odd : {&BesselI1, &BesselI1e, &BesselJ1, &Dawsn, &FresnelCos, &FresnelSin}) {
    EXPECT_DOUBLE_EQ(odd(-1.25), -odd(1.25));
  }
}

// Where one way to compute a function takes over from another, nothing jumps.
// Where numbers that are not normal count as 0, too.
TEST(BesselTest, NextToZero) {
  for (const double x : {2.3e-308, 4e-308, 8e-308, 1e-100, 1e-20, 0.999e-10, 1.001e-10}) {
    EXPECT_NEAR(BesselK0(x) / (-std::log(x / 2) - 0.5772156649015329), 1, 1e-14) << x;
    EXPECT_NEAR(BesselK1(x) * x, 1, 1e-14) << x;
    EXPECT_NEAR(BesselK0e(x) / BesselK0(x), 1, 1e-9) << x;
  }
}

TEST(BesselTest, WaysMeet) {
  for (const double seam : {25.0, 10.0, 1.5, 1.0, 0.666, 0.5}) {
    const double before = std::nextafter(seam, 0), after = std::nextafter(seam, kInf);
    for (const Known& known : kKnown) {
      EXPECT_NEAR(known.function(before), known.function(after), 1e-13 * (1 + std::fabs(known.function(seam))))
          << known.name << " at " << seam;
    }
  }
}

// What `op` makes of elements of type T.
template <typename T>
std::vector<T> ResultsOf(const std::string& op, const std::vector<T>& x) {
  const absl::StatusOr<Tensor> y = KernelRunner(op).Run1({Tensor::Vector<T>(x)});
  EXPECT_OK(y);
  if (!y.ok()) return {};
  return std::vector<T>(y->flat<T>().begin(), y->flat<T>().end());
}

// TensorFlow's I ends where exp(x) does, in each type: in float the results would go on to 91.9.
TEST(BesselOpTest, IEndsWithItsFactor) {
  constexpr float kLast = 88.72283172607422f, kEnd = 88.72283935546875f, kFloatInf = kInf;
  constexpr double kLastDouble = 709.782712893384, kEndDouble = 709.7827128933841;
  for (const char* const op : {"BesselI0", "BesselI1"}) {
    const float sign = op[7] == '0' ? 1 : -1;
    const std::vector<float> y = ResultsOf<float>(op, {kLast, kEnd, -kEnd, 90, 91.5f, 1e30f, -1e30f});
    EXPECT_NEAR(y[0] / 1.44e37f, 1, 0.01) << op;
    EXPECT_EQ(std::vector<float>(y.begin() + 1, y.end()),
              (std::vector<float>{kFloatInf, sign * kFloatInf, kFloatInf, kFloatInf, kFloatInf, sign * kFloatInf}));
    const std::vector<double> z = ResultsOf<double>(op, {kLastDouble, kEndDouble, -kEndDouble, 713});
    EXPECT_NEAR(z[0] / 2.69e306, 1, 0.01) << op;
    EXPECT_EQ(std::vector<double>(z.begin() + 1, z.end()), (std::vector<double>{kInf, sign * kInf, kInf}));
    const std::vector<Half> h = ResultsOf<Half>(op, {Half(13.28f), Half(13.35f), Half(88.0f), Half(60000.0f)});
    EXPECT_NEAR(static_cast<float>(h[0]), 63500, 2000) << op;
    for (size_t i = 1; i < 4; ++i) EXPECT_EQ(static_cast<float>(h[i]), kFloatInf) << op << " " << i;
    EXPECT_TRUE(std::isnan(ResultsOf<float>(op, {kFloatInf})[0]));
    EXPECT_TRUE(std::isfinite(ResultsOf<float>(std::string(op) + "e", {90})[0]));
  }
}

// The smallest numbers count as 0 in TensorFlow when they are halved.
TEST(BesselOpTest, EndsNextToZero) {
  constexpr float kMin = std::numeric_limits<float>::min();
  constexpr double kMinDouble = std::numeric_limits<double>::min();
  for (const std::string e : {"", "e"}) {
    EXPECT_EQ(ResultsOf<float>("BesselK0" + e, {0, kMin, 1.99f * kMin}), (std::vector<float>(3, kInf)));
    EXPECT_NEAR(ResultsOf<float>("BesselK0" + e, {2 * kMin})[0], 86.7555f, 0.01);
    EXPECT_EQ(ResultsOf<double>("BesselK0" + e, {0, kMinDouble, 1.99 * kMinDouble}), (std::vector<double>(3, kInf)));
    EXPECT_NEAR(ResultsOf<double>("BesselK0" + e, {2 * kMinDouble})[0], 707.817, 0.01);
    EXPECT_EQ(ResultsOf<float>("BesselK1" + e, {0})[0], kInf);
    for (const float x : {kMin, 1.99f * kMin}) EXPECT_TRUE(std::isnan(ResultsOf<float>("BesselK1" + e, {x})[0])) << x;
    for (const double x : {kMinDouble, 1.99 * kMinDouble}) {
      EXPECT_TRUE(std::isnan(ResultsOf<double>("BesselK1" + e, {x})[0])) << x;
    }
    EXPECT_NEAR(ResultsOf<float>("BesselK1" + e, {2 * kMin})[0] * 2 * kMin, 1, 1e-6);
    EXPECT_NEAR(static_cast<float>(ResultsOf<Half>("BesselK1" + e, {Half(1e-3f)})[0]), 1000, 2);
  }
  for (const float zero : {0.0f, -0.0f}) {
    EXPECT_TRUE(std::isnan(ResultsOf<float>("BesselY1", {zero})[0]));
    EXPECT_TRUE(std::isnan(static_cast<float>(ResultsOf<Half>("BesselY1", {Half(zero)})[0])));
    EXPECT_EQ(ResultsOf<double>("BesselY1", {zero})[0], -kInf);
    EXPECT_EQ(ResultsOf<float>("BesselY0", {zero})[0], -kInf);
  }
  EXPECT_EQ(ResultsOf<float>("BesselY1", {-1, -1e-30f}), (std::vector<float>(2, -kInf)));
  EXPECT_TRUE(std::isfinite(ResultsOf<float>("BesselY1", {1.2e-38f})[0]));
}

// Differences against the equations that the functions satisfy.
TEST(BesselTest, Equations) {
  for (const double x : {0.01, 0.7, 5.0, 24.0, 26.0, 60.0}) {
    EXPECT_NEAR(BesselI0e(x) * BesselK1e(x) + BesselI1e(x) * BesselK0e(x), 1 / x, 1e-13 / x) << x;
    EXPECT_NEAR(BesselJ1(x) * BesselY0(x) - BesselJ0(x) * BesselY1(x), 2 / (M_PI * x), 1e-12 / x) << x;
  }
  for (const double x : {0.1, 0.4, 0.9}) {
    EXPECT_NEAR(Spence(x) + Spence(1 - x), M_PI * M_PI / 6 - std::log(x) * std::log1p(-x), 1e-14) << x;
  }
  EXPECT_EQ(Spence(1), 0);
  EXPECT_EQ(FresnelSin(1e9), 0.5);
}

}  // namespace
}  // namespace special
}  // namespace sluice

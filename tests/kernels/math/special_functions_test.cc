#include "kernels/math/special_functions.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace sluice {
namespace special {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

void ExpectClose(double found, double wanted) { EXPECT_NEAR(found, wanted, 1e-12 * (1e-3 + std::fabs(wanted))); }

TEST(SpecialFunctionsTest, InversesUndoErfAndTheNormalDistribution) {
  for (double y : {-5.0, -2.5, -0.7, -0.1, -1e-9, 0.0, 1e-5, 0.3, 0.5, 1.7, 3.0}) {
    EXPECT_NEAR(Erfinv(std::erf(y)), y, 1e-5 * std::exp(y * y - 12) + 1e-13 * std::fabs(y)) << y;
    EXPECT_NEAR(Ndtri(0.5 * std::erfc(-y / std::sqrt(2.0))), y, 1e-9) << y;
  }
  ExpectClose(Ndtri(2.2250738585072014e-308), -37.5193793471445);
  ExpectClose(Ndtri(1e-200), -30.205594179579643);
  EXPECT_EQ(Erfinv(1.0), kInf);
  EXPECT_EQ(Erfinv(-1.0), -kInf);
  EXPECT_TRUE(std::isnan(Erfinv(1.5)));
  EXPECT_EQ(Ndtri(0.0), -kInf);
  EXPECT_TRUE(std::isnan(Ndtri(-0.5)));
}

TEST(SpecialFunctionsTest, DigammaHasItsRecurrenceAndPoles) {
  ExpectClose(Digamma(1.0), -0.57721566490153286);
  ExpectClose(Digamma(0.5), -1.9635100260214235);
  for (double x : {-3.7, -0.2, 0.1, 2.5, 30.0}) ExpectClose(Digamma(x + 1.0), Digamma(x) + 1.0 / x);
  ExpectClose(Digamma(-1e-300), 1e300);
  EXPECT_TRUE(std::isnan(Digamma(0.0)));
  EXPECT_TRUE(std::isnan(Digamma(-2.0)));
  EXPECT_TRUE(std::isnan(Digamma(-kInf)));
}

TEST(SpecialFunctionsTest, IncompleteGammaFunctionsAddUpToOne) {
  for (double a : {0.1, 1.0, 3.5, 50.0, 1000.0}) {
    for (double x : {0.01, 0.9, 4.0, 49.0, 1000.0}) EXPECT_NEAR(Igamma(a, x) + Igammac(a, x), 1.0, 3e-13);
  }
  ExpectClose(Igamma(1.0, 2.0), -std::expm1(-2.0));
  EXPECT_NEAR(Igamma(1000.0, 1000.0), 0.5042052441801859, 1e-11);
  EXPECT_EQ(Igamma(0.0, 0.0), 0.0);
  EXPECT_EQ(Igamma(-3.5, -0.0), 0.0);
  EXPECT_EQ(Igamma(kInf, kInf), 0.0);
  EXPECT_EQ(Igammac(kInf, kInf), 0.0);
  EXPECT_EQ(Igamma(1e300, 3.0), 0.0);
  EXPECT_EQ(Igammac(1e300, 3.0), 1.0);
  EXPECT_EQ(Igamma(1e30, 1e30), 0.0);
  EXPECT_EQ(Igammac(1e30, 1e30), 0.0);
  EXPECT_TRUE(std::isnan(Igamma(0.0, 1.0)));
  EXPECT_EQ(Igammac(2.0, kInf), 0.0);
}

TEST(SpecialFunctionsTest, ZetaAndPolygammaAgreeWithKnownValues) {
  ExpectClose(Zeta(2.0, 1.0), M_PI * M_PI / 6);
  ExpectClose(Zeta(4.0, 1.0), std::pow(M_PI, 4) / 90);
  ExpectClose(Zeta(2.0, -0.5), 8.934802200544679);
  ExpectClose(Zeta(2.0, -30.25) - Zeta(2.0, 0.75), Zeta(2.0, 0.25) - Zeta(2.0, 31.25));
  ExpectClose(Zeta(3.0, -30.25) - Zeta(3.0, 0.75), Zeta(3.0, 31.25) - Zeta(3.0, 0.25));
  ExpectClose(Zeta(2.0, -1e12 - 0.5), M_PI * M_PI);
  EXPECT_EQ(Zeta(1.0, 2.0), kInf);
  EXPECT_EQ(Zeta(2.0, -1.0), kInf);
  EXPECT_EQ(Zeta(1.5, kInf), 0.0);
  EXPECT_EQ(Zeta(kInf, 2.0), 0.0);
  EXPECT_EQ(Zeta(1e308, 1.5), 0.0);
  EXPECT_TRUE(std::isnan(Zeta(1.5, 0.0)));
  EXPECT_TRUE(std::isnan(Zeta(0.5, 2.0)));
  EXPECT_TRUE(std::isnan(Zeta(2.5, -0.5)));
  ExpectClose(Polygamma(1.0, 2.0), M_PI * M_PI / 6 - 1);
  ExpectClose(Polygamma(2.0, -0.5), -0.82879664423432);
  ExpectClose(Polygamma(33.0, 10.0), 904.2109394612664);
  ExpectClose(Polygamma(100.0, 10.0) * 1e-56, -9.333237300479427);
  EXPECT_TRUE(std::isnan(Polygamma(1.5, 2.0)));
}

TEST(SpecialFunctionsTest, IncompleteBetaIsSymmetric) {
  for (double x : {0.01, 0.3, 0.5, 0.99}) {
    EXPECT_NEAR(Betainc(2.5, 7.0, x), 1.0 - Betainc(7.0, 2.5, 1.0 - x), 1e-13);
    ExpectClose(Betainc(1.0, 1.0, x), x);
  }
  ExpectClose(Betainc(0.5, 0.5, 0.3), 0.36901011956554536);
  EXPECT_EQ(Betainc(2.0, 3.0, 1.0), 1.0);
  EXPECT_TRUE(std::isnan(Betainc(1.0, 1.0, 2.0)));
}

}  // namespace
}  // namespace special
}  // namespace sluice

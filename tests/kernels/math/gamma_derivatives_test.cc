#include "kernels/math/gamma_derivatives.h"

#include <cmath>
#include <limits>
#include <utility>

#include "gtest/gtest.h"

namespace sluice {
namespace special {
namespace {

struct Point {
  double a;
  double x;
  double sample_grad;
  double igamma_grad;
};

// What TensorFlow 2.19 says of doubles, by both sums and on both sides of their border.
constexpr Point kPoints[] = {{0.01, 1e-30, 6.851666733195268e-27, -34.53563931412633},
                             {0.3, 0.2, 1.2120372612897217, -1.023380307220394},
                             {1.0, 1.0, 1.1735630272247275, -0.43172971063489896},
                             {1.0, 5.0, 2.3570757536203653, -0.015881851500723458},
                             {2.5, 0.01, 0.022901968802790315, -1.7056647497778238e-05},
                             {2.5, 2.0, 0.9534627029186169, -0.2745513219458816},
                             {2.5, 30.0, 2.870701721535223, -3.3204679676860885e-11},
                             {100.0, 90.0, 0.9498259498011444, -0.02461191684397851},
                             {100.0, 130.0, 1.1388044458372264, -0.0008101300285622401},
                             {5000.0, 4900.0, 0.9899656565180407, -0.0020684190598657124},
                             {5000.0, 5200.0, 1.0197725322203661, -0.00011237971059412491}};

TEST(GammaDerivativesTest, AgreeWithTensorFlow) {
  for (const Point& p : kPoints) {
    EXPECT_NEAR(GammaSampleGrad(p.a, p.x) / p.sample_grad, 1.0, 1e-10) << p.a << " " << p.x;
    EXPECT_NEAR(IgammaGradA(p.a, p.x) / p.igamma_grad, 1.0, 1e-10) << p.a << " " << p.x;
  }
}

// The normal limit takes over where the sums end.
TEST(GammaDerivativesTest, LargeParametersContinueTheSums) {
  for (const double deviations : {-3.0, -0.5, 0.0, 2.0}) {
    const double below = GammaSampleGrad(0.999e6, 0.999e6 + deviations * 1e3);
    const double above = GammaSampleGrad(1.001e6, 1.001e6 + deviations * 1e3);
    EXPECT_NEAR(below, above, 1e-5) << deviations;
  }
}

TEST(GammaDerivativesTest, OutsideOfTheDomain) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [a, x] :
       {std::pair(0.0, 1.0), std::pair(-1.0, 1.0), std::pair(1.0, -1.0), std::pair(nan, 1.0), std::pair(1.0, nan)}) {
    EXPECT_TRUE(std::isnan(GammaSampleGrad(a, x))) << a << " " << x;
    EXPECT_TRUE(std::isnan(IgammaGradA(a, x))) << a << " " << x;
  }
  EXPECT_EQ(GammaSampleGrad(1.0, 0.0), 0.0);
  EXPECT_EQ(IgammaGradA(1.0, 0.0), 0.0);
  EXPECT_EQ(IgammaGradA(2.0, std::numeric_limits<double>::infinity()), 0.0);
}

}  // namespace
}  // namespace special
}  // namespace sluice

#include "kernels/math/gamma_derivatives.h"

#include <cmath>
#include <limits>

#include "kernels/math/special_functions.h"

namespace sluice {
namespace special {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMaxSteps = 20000;
// Above it, sums would take too many terms; the distribution is nearly normal.
constexpr double kLargeGamma = 1e6;

// A number and its derivative.
struct Dual {
  double value;
  double slope;
};
Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
Dual operator/(Dual a, Dual b) {
  const double value = a.value / b.value;
  return {value, (a.slope - value * b.slope) / b.value};
}

// All of these give the derivative of Igamma(a, x) by a, divided by the density, its derivative by x.

// From the power series of Igamma, for x up to a, where all terms of the derivative have one sign.
double BySeries(double a, double x) {
  Dual term = {1.0, 0.0};
  Dual sum = term;
  for (int k = 1; k < kMaxSteps; ++k) {
    term = term * (Dual{x, 0.0} / Dual{a + k, 1.0});
    sum = sum + term;
    if (term.value <= sum.value * kEpsilon && std::abs(term.slope) <= std::abs(sum.slope) * kEpsilon) break;
  }
  return x / a * (sum.value * (std::log(x) - Digamma(a + 1.0)) + sum.slope);
}

// From the continued fraction of Igammac (Lentz's way), for x above a and above 1.
double ByFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  Dual b = {x + 1.0 - a, -1.0};
  Dual c = {1.0 / kTiny, 0.0};
  Dual d = Dual{1.0, 0.0} / b;
  Dual h = d;
  for (int k = 1; k < kMaxSteps; ++k) {
    const Dual numerator = {-k * (k - a), static_cast<double>(k)};
    b.value += 2.0;
    d = numerator * d + b;
    if (std::abs(d.value) < kTiny) d.value = kTiny;
    c = b + numerator / c;
    if (std::abs(c.value) < kTiny) c.value = kTiny;
    d = Dual{1.0, 0.0} / d;
    const Dual factor = d * c;
    h = h * factor;
    if (std::abs(factor.value - 1.0) < kEpsilon && std::abs(factor.slope * h.value) <= std::abs(h.slope) * kEpsilon) {
      break;
    }
  }
  return -x * (h.value * (std::log(x) - Digamma(a)) + h.slope);
}

// From the cube root, which is nearly normal (Wilson and Hilferty, 1931).
double ByCubeRoot(double a, double x) {
  const double root = std::cbrt(x / a);
  const double normal = (root - 1.0 + 1.0 / (9.0 * a)) * 3.0 * std::sqrt(a);
  return -root * root * (root + 3.0 * (1.0 / (9.0 * a) - normal / (6.0 * std::sqrt(a))));
}

bool IsInDomain(double a, double x) { return a > 0.0 && x >= 0.0; }

double SlopeByDensity(double a, double x) {
  if (x == 0.0) return 0.0;
  if (a > kLargeGamma) return ByCubeRoot(a, x);
  return x > 1.0 && x > a ? ByFraction(a, x) : BySeries(a, x);
}

}  // namespace

double IgammaGradA(double a, double x) {
  if (!IsInDomain(a, x)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0.0 || std::isinf(x)) return 0.0;
  return SlopeByDensity(a, x) * std::exp((a - 1.0) * std::log(x) - x - Lgamma(a));
}

double GammaSampleGrad(double a, double x) {
  if (!IsInDomain(a, x)) return std::numeric_limits<double>::quiet_NaN();
  return -SlopeByDensity(a, x);
}

}  // namespace special
}  // namespace sluice

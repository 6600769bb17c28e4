#include "kernels/math/special_functions.h"

#include <cmath>
#include <limits>

namespace sluice {
namespace special {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMaxSteps = 20000;
constexpr double kLargestGamma = 1e16;  // Above it, neighbours are more than 1 apart.

bool IsWhole(double x) { return std::floor(x) == x; }

// The y with erfc(y) = q for a q near the smallest double: from y^2 = -log(q y sqrt(pi) / (1 - 1/(2y^2) + 3/(4y^4)
// ...)), as erfc itself would be flushed to 0.
double ErfcInverseOfTiny(double q) {
  double y = std::sqrt(-std::log(q));
  for (int i = 0; i < 20; ++i) {
    const double s = 0.5 / (y * y);
    const double series = s * (-1.0 + s * (3.0 - s * (15.0 - s * 105.0)));
    y = std::sqrt(-std::log(q) - std::log(y * std::sqrt(kPi)) + std::log1p(series));
  }
  return y;
}

// The y with erfc(y) = q, for 0 < q <= 1: a rough start (Abramowitz and Stegun 26.2.23), made exact by Halley's steps.
double ErfcInverse(double q) {
  if (q < 1e-290) return ErfcInverseOfTiny(q);
  const double t = std::sqrt(-2.0 * std::log(0.5 * q));
  const double start =
      t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  double y = start / kSqrt2;
  for (int i = 0; i < 4; ++i) {
    const double step = (std::erfc(y) - q) / (-kTwoOverSqrtPi * std::exp(-y * y));
    y -= step / (1.0 + y * step);
  }
  return y;
}

// x^a exp(-x) / gamma(a + 1); 0 where the numbers are so large that their differences say nothing.
double GammaFactor(double a, double x) {
  const double log_factor = a * std::log(x) - x - Lgamma(a + 1.0);
  return std::isnan(log_factor) || a > kLargestGamma ? 0.0 : std::exp(log_factor);
}

// The lower function by its power series: fast for x below a.
double IgammaSeries(double a, double x) {
  double term = 1.0;
  double sum = 1.0;
  for (int k = 1; k < kMaxSteps && term > sum * kEpsilon; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return sum * GammaFactor(a, x);
}

// The upper function by its continued fraction (Lentz's way), for x above a and above 1.
double IgammacFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  const double gamma_factor = GammaFactor(a, x);
  if (gamma_factor == 0.0) return 0.0;
  double b = x + 1.0 - a;
  double c = 1.0 / kTiny;
  double d = 1.0 / b;
  double h = d;
  for (int k = 1; k < kMaxSteps; ++k) {
    const double numerator = -k * (k - a);
    b += 2.0;
    d = numerator * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + numerator / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1.0 / d;
    const double factor = d * c;
    h *= factor;
    if (std::fabs(factor - 1.0) < kEpsilon) break;
  }
  return h * a * gamma_factor;
}

// The sum of (q + n)^-x over all n >= 0, for x > 1 and q > 0. Euler and Maclaurin: terms one by one as long as they
// count, up to q + n >= 10 + x, from where the rest is an integral with corrections B(2k) / (2k)! that get small fast.
double ZetaOfPositive(double x, double q) {
  constexpr double kCoefficients[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0,
                                      -3617.0 / 10670622842880000.0};
  double sum = 0.0;
  double base = q;
  for (; base < 10.0 + x; base += 1.0) {
    const double term = std::pow(base, -x);
    sum += term;
    if (term <= sum * 1e-18) return sum;
  }
  const double term = std::pow(base, -x);
  if (term == 0.0) return sum;
  sum += term * base / (x - 1.0) + 0.5 * term;
  double factor = x * term / base;
  for (int k = 0; k < 8; ++k) {
    sum += kCoefficients[k] * factor;
    factor *= (x + 2.0 * k + 1.0) * (x + 2.0 * k + 2.0) / (base * base);
  }
  return sum;
}

// The continued fraction of the incomplete beta function (Lentz's way), for x below (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto guard = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1.0;
  double d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
  double h = d;
  for (int m = 1; m < kMaxSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    d = 1.0 / guard(1.0 + even * d);
    c = guard(1.0 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    d = 1.0 / guard(1.0 + odd * d);
    c = guard(1.0 + odd / c);
    const double factor = d * c;
    h *= factor;
    if (std::fabs(factor - 1.0) < kEpsilon) break;
  }
  return h;
}

}  // namespace

double Lgamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);  // Without the global variable of lgamma.
}

double Digamma(double x) {
  if (x == -kInfinity || (x <= 0.0 && IsWhole(x))) return kNan;
  double y = 0.0;
  if (x < 0.0) {
    const double fraction = x - std::round(x);  // Signed: exact for x next to 0, where x - floor(x) would be 1.
    y = -kPi / std::tan(kPi * fraction);
    x = 1.0 - x;
  }
  for (; x < 10.0; x += 1.0) y -= 1.0 / x;
  // Stirling's series: Bernoulli numbers B(2k) / 2k.
  const double s = 1.0 / (x * x);
  const double series =
      s *
      (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s / 12))))));
  return y + std::log(x) - 0.5 / x - series;
}

double Erfinv(double x) {
  const double a = std::fabs(x);
  if (!(a <= 1.0)) return kNan;
  if (a == 1.0) return x * kInfinity;
  if (a > 0.5) return std::copysign(ErfcInverse(1.0 - a), x);
  double y = x / kTwoOverSqrtPi;
  for (int i = 0; i < 5; ++i) {
    const double step = (std::erf(y) - x) / (kTwoOverSqrtPi * std::exp(-y * y));
    y -= step / (1.0 + y * step);
  }
  return y;
}

double Ndtri(double p) {
  if (!(p >= 0.0 && p <= 1.0)) return kNan;
  if (p == 0.0) return -kInfinity;
  if (p == 1.0) return kInfinity;
  return p > 0.5 ? kSqrt2 * Erfinv(2.0 * p - 1.0) : -kSqrt2 * (p < 0.25 ? ErfcInverse(2.0 * p) : Erfinv(1.0 - 2.0 * p));
}

double Igamma(double a, double x) {
  if (x == 0.0) return 0.0;
  if (!(x > 0.0 && a > 0.0)) return kNan;
  if (std::isinf(a)) return 0.0;
  if (std::isinf(x)) return 1.0;
  return x > 1.0 && x > a ? 1.0 - IgammacFraction(a, x) : IgammaSeries(a, x);
}

double Igammac(double a, double x) {
  if (!(x >= 0.0 && a > 0.0)) return kNan;
  if (x == 0.0) return 1.0;
  if (std::isinf(x)) return 0.0;
  if (std::isinf(a)) return 1.0;
  return x < 1.0 || x < a ? 1.0 - IgammaSeries(a, x) : IgammacFraction(a, x);
}

double Zeta(double x, double q) {
  if (x == 1.0) return kInfinity;
  if (!(x > 1.0) || std::isnan(q)) return kNan;
  if (q <= 0.0) {
    // A pole: of one sign only for even x.
    const bool is_even = std::isinf(x) || std::fmod(x, 2.0) == 0.0;
    if (IsWhole(q)) return IsWhole(x) && is_even ? kInfinity : kNan;
    if (!IsWhole(x)) return kNan;
    // All negative terms but the last of them mirror those of a positive q.
    double sum = 0.0;
    if (q < -20.0) {
      const double count = std::floor(-q) - 10.0;
      const double mirrored = ZetaOfPositive(x, 1.0 - q - count) - ZetaOfPositive(x, 1.0 - q);
      sum = is_even ? mirrored : -mirrored;
      q += count;
    }
    for (; q < 0.0; q += 1.0) sum += std::pow(q, -x);
    return sum + ZetaOfPositive(x, q);
  }
  if (std::isinf(x)) return std::pow(q, -x);
  if (std::isinf(q)) return 0.0;
  return ZetaOfPositive(x, q);
}

double Polygamma(double n, double x) {
  if (!(n >= 0.0) || !IsWhole(n)) return kNan;
  if (n == 0.0) return Digamma(x);
  const double y = std::exp(Lgamma(n + 1.0)) * Zeta(n + 1.0, x);
  return std::fmod(n, 2.0) == 0.0 ? -y : y;
}

double Betainc(double a, double b, double x) {
  if (!(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0)) return kNan;
  if (x == 0.0 || x == 1.0) return x;
  const double log_factor = a * std::log(x) + b * std::log1p(-x) + Lgamma(a + b) - Lgamma(a) - Lgamma(b);
  const double factor = std::exp(log_factor);
  if (x < (a + 1.0) / (a + b + 2.0)) return factor * BetaFraction(a, b, x) / a;
  return 1.0 - factor * BetaFraction(b, a, 1.0 - x) / b;
}

}  // namespace special
}  // namespace sluice

#include "kernels/math/bessel.h"

#include <cmath>
#include <limits>

namespace sluice::special {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kEulerGamma = 0.57721566490153286061;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// From here on the expansion in powers of 1/x has terms below a double's precision before they grow again.
constexpr double kLarge = 25;

// The sum over k of sign^k (m - 1)(m - 9)...(m - (2k-1)^2) / (k! (8x)^k), m = 4 order^2: that of I with -1, of K with
// 1. REQUIRES: x >= kLarge.
double SumOfInversePowers(int order, double x, double sign) {
  const double m = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 50 && std::abs(term) > 1e-17; ++k) {
    const double odd = 2.0 * k - 1;
    term *= sign * (m - odd * odd) / (k * 8.0 * x);
    sum += term;
  }
  return sum;
}

// exp(-x) I of `order`. REQUIRES: x >= 0.
double ScaledI(int order, double x) {
  if (x >= kLarge) {
    if (std::isinf(x)) return 0;
    return SumOfInversePowers(order, x, -1) / std::sqrt(2 * kPi * x);
  }
  // All terms are positive: nothing cancels.
  double term = order == 0 ? 1 : x / 2, sum = term;
  const double quarter = x * x / 4;
  for (int k = 1; k < 100 && term > sum * 1e-17; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum * std::exp(-x);
}

// I of `order` for x >= 0. As in TensorFlow, infinite from where the factor is, a little before the result would be,
// and of infinity not a number; so below.
double PlainI(int order, double x) { return std::isinf(x) ? kNan : ScaledI(order, x) * std::exp(x); }

// K of `order` for 0 < x < kLarge. Near 0 the first term is all; the library's series does not end there where numbers
// that are not normal count as 0.
double NearK(int order, double x) {
  if (x >= 1e-10) return std::cyl_bessel_k(static_cast<double>(order), x);
  return order == 0 ? -std::log(x / 2) - kEulerGamma : 1 / x;
}

// exp(x) K of `order`.
double ScaledK(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  if (std::isinf(x)) return 0;
  if (x < kLarge) return NearK(order, x) * std::exp(x);
  return SumOfInversePowers(order, x, 1) * std::sqrt(kPi / (2 * x));
}

double PlainK(int order, double x) {
  if (x > 0 && x < kLarge) return NearK(order, x);
  return ScaledK(order, x) * (x > 0 ? std::exp(-x) : 1.0);
}

}  // namespace

double BesselI0(double x) { return std::isnan(x) ? x : PlainI(0, std::abs(x)); }
double BesselI0e(double x) { return std::isnan(x) ? x : ScaledI(0, std::abs(x)); }
double BesselI1(double x) { return std::isnan(x) ? x : std::copysign(PlainI(1, std::abs(x)), x); }
double BesselI1e(double x) { return std::isnan(x) ? x : std::copysign(ScaledI(1, std::abs(x)), x); }
double BesselJ0(double x) { return std::isinf(x) ? kNan : ::j0(x); }
double BesselJ1(double x) { return std::isinf(x) ? kNan : ::j1(x); }
double BesselK0(double x) { return PlainK(0, x); }
double BesselK0e(double x) { return ScaledK(0, x); }
double BesselK1(double x) { return PlainK(1, x); }
double BesselK1e(double x) { return ScaledK(1, x); }
double BesselY0(double x) { return x <= 0 ? -kInf : std::isinf(x) ? kNan : ::y0(x); }
double BesselY1(double x) { return x <= 0 ? -kInf : std::isinf(x) ? kNan : ::y1(x); }

}  // namespace sluice::special

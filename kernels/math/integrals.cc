#include "kernels/math/integrals.h"

#include <cmath>
#include <complex>
#include <limits>

namespace sluice::special {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// --- Dawson's integral, x >= 0 -----------------------------------------------------------------------------------

// The sum of (-2)^k x^(2k+1) / (2k+1)!!.
double DawsonByPowers(double x) {
  double term = x, sum = x;
  for (int k = 1; k < 40; ++k) {
    term *= -2 * x * x / (2 * k + 1);
    sum += term;
  }
  return sum;
}

// Samples of a Gaussian at odd multiples of a step (Rybicki's sum): the error falls as exp(-(pi / (2 step))^2), 1e-26.
double DawsonBySamples(double x) {
  constexpr double kStep = 0.2;
  const double even = 2 * std::round(x / (2 * kStep));  // The multiple next to x.
  const double rest = x - even * kStep;
  double sum = 0;
  for (int k = -35; k <= 35; k += 2) {
    const double distance = rest - k * kStep;
    sum += std::exp(-distance * distance) / (even + k);
  }
  return sum / std::sqrt(kPi);
}

// 1/(2x) times the sum of (2k-1)!! / (2x^2)^k.
double DawsonByInversePowers(double x) {
  const double step = 1 / (2 * x * x);
  double term = 1, sum = 1;
  for (int k = 1; k < 20; ++k) {
    term *= (2 * k - 1) * step;
    sum += term;
  }
  return sum / (2 * x);
}

// --- Fresnel's integrals, x >= 0 ---------------------------------------------------------------------------------

// Cos as real part, sin as imaginary part: powers of i pi x^2 / 2.
std::complex<double> FresnelByPowers(double x) {
  const std::complex<double> square(0, kPi / 2 * x * x);
  std::complex<double> power = x, sum = x;
  for (int k = 1; k < 60; ++k) {
    power *= square / static_cast<double>(k);
    sum += power / (2.0 * k + 1);
  }
  return sum;
}

// The rest up to infinity by the continued fraction of the complementary error function (Lentz's method).
std::complex<double> FresnelByFraction(double x) {
  const std::complex<double> one(1, 0);
  const double square = kPi * x * x;
  std::complex<double> b(1, -square);
  std::complex<double> c = 1e300, d = one / b, fraction = d;
  for (int k = 2; k < 200; ++k) {
    const double n = 2.0 * k - 3;
    const double a = -n * (n + 1);
    b += std::complex<double>(4, 0);
    d = one / (a * d + b);
    c = b + a / c;
    const std::complex<double> factor = c * d;
    fraction *= factor;
    if (std::abs(factor.real() - 1) + std::abs(factor.imag()) < 1e-16) break;
  }
  const std::complex<double> wave(std::cos(square / 2), std::sin(square / 2));
  return std::complex<double>(0.5, 0.5) * (one - wave * std::complex<double>(x, -x) * fraction);
}

std::complex<double> Fresnel(double x) {
  if (std::isnan(x)) return {x, x};
  const double size = std::abs(x);
  // Further out, as in TensorFlow, both are 1/2: the phase of what is left is noise.
  const std::complex<double> value = size < 1.5     ? FresnelByPowers(size)
                                     : size < 36974 ? FresnelByFraction(size)
                                                    : std::complex<double>(0.5, 0.5);
  return x < 0 ? -value : value;
}

}  // namespace

double Dawsn(double x) {
  const double size = std::abs(x);
  if (std::isnan(x)) return x;
  const double value = size < 1    ? DawsonByPowers(size)
                       : size < 10 ? DawsonBySamples(size)
                                   : DawsonByInversePowers(size);
  return std::copysign(value, x);
}

double Expint(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInf;
  return std::isinf(x) ? kNan : std::expint(x);
}

double FresnelCos(double x) { return Fresnel(x).real(); }
double FresnelSin(double x) { return Fresnel(x).imag(); }

// The sum of (-w)^k / k^2 is Spence(1 + w); other x are brought there by its equations for 1 / x and 1 - x.
double Spence(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 1) return 0;
  if (x == 0) return kPi * kPi / 6;
  if (std::isinf(x)) return kNan;
  const bool is_inverse = x > 1.5;
  const double inside = is_inverse ? 1 / x : x;
  const bool is_reflected = inside < 0.5;
  const double w = is_reflected ? -inside : inside - 1;
  double power = 1, sum = 0;
  for (int k = 1; k < 70; ++k) {
    power *= -w;
    sum += power / (static_cast<double>(k) * k);
  }
  if (is_reflected) sum = kPi * kPi / 6 - std::log(inside) * std::log1p(-inside) - sum;
  if (is_inverse) sum = -0.5 * std::log(inside) * std::log(inside) - sum;
  return sum;
}

}  // namespace sluice::special

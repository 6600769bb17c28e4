#ifndef SLUICE_KERNELS_MATH_FLOAT_OPS_H_
#define SLUICE_KERNELS_MATH_FLOAT_OPS_H_

// Functors of roots, exponentials, logarithms and rounding: float by float_math.h, double and complex by the standard
// library. See Note [Functors].

#include <cmath>
#include <complex>
#include <limits>

#include "kernels/math/float_math.h"
#include "kernels/math/functor.h"

namespace sluice {

struct SqrtOp {
  static constexpr float kUnitNs = 0.5f;
  [[gnu::always_inline]] static float Apply(float x) { return __builtin_sqrtf(x); }
  static double Apply(double x) { return std::sqrt(x); }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    return std::sqrt(x);
  }
};
struct RsqrtOp {
  static constexpr float kUnitNs = 0.8f;
  [[gnu::always_inline]] static float Apply(float x) { return 1.0f / __builtin_sqrtf(x); }
  static double Apply(double x) { return 1.0 / std::sqrt(x); }
  // After TensorFlow: the branch of the root for a negative real part does not look at the sign of an imaginary zero.
  template <typename T>
  static std::complex<T> Apply(std::complex<T> z) {
    const T x = z.real();
    const T y = z.imag();
    const T size = std::hypot(x, y);
    if (size == T(0)) return {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
    if (std::isinf(x) || std::isinf(y)) return {T(0), T(0)};
    const T root = std::sqrt(T(0.5) * (std::abs(x) + size));
    const T part = root / size;
    if (x > T(0)) return {part, -y / (2 * root * size)};
    return {x == T(0) ? part : std::abs(y) / (2 * root * size), y < T(0) ? part : -part};
  }
};
struct ExpOp {
  static constexpr float kUnitNs = 1.0f;
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Exp(x); }
  static double Apply(double x) { return std::exp(x); }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    return std::exp(x);
  }
};
struct Expm1Op {
  static constexpr float kUnitNs = 1.0f;
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Expm1(x); }
  static double Apply(double x) { return std::expm1(x); }
  // exp(a + bi) - 1 = (expm1(a) - 2 exp(a) sin(b/2)^2) + i exp(a) sin b, which loses nothing near 0.
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    const T half_sine = std::sin(x.imag() / 2);
    const T less = std::expm1(x.real());
    return {less - 2 * (less + 1) * (half_sine * half_sine), (less + 1) * std::sin(x.imag())};
  }
};
struct LogOp {
  static constexpr float kUnitNs = 1.0f;
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Log(x); }
  static double Apply(double x) { return std::log(x); }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    return std::log(x);
  }
};
struct Log1pOp {
  static constexpr float kUnitNs = 1.5f;
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Log1p(x); }
  static double Apply(double x) { return std::log1p(x); }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    // The quotient makes good what 1 + x lost.
    const std::complex<T> sum = T(1) + x;
    const std::complex<T> y = std::log(sum);
    return sum == std::complex<T>(1) || sum == y ? x : x * (y / (sum - T(1)));
  }
};
struct TanhOp {
  static constexpr float kUnitNs = 1.5f;
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Tanh(x); }
  static double Apply(double x) { return std::tanh(x); }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    return std::tanh(x);
  }
};
struct SigmoidOp {
  static constexpr float kUnitNs = 1.5f;
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Sigmoid(x); }
  static double Apply(double x) { return 1.0 / (1.0 + std::exp(-x)); }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    return std::complex<T>(1) / (std::complex<T>(1) + std::exp(-x));
  }
};
struct ErfOp {
  static constexpr float kUnitNs = 2.0f;
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Erf(x); }
  static double Apply(double x) { return std::erf(x); }
};
struct ErfcOp {
  static constexpr float kUnitNs = 2.0f;
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Erfc(x); }
  static double Apply(double x) { return std::erfc(x); }
};
struct FloorOp {
  [[gnu::always_inline]] static float Apply(float x) { return __builtin_floorf(x); }
  [[gnu::always_inline]] static double Apply(double x) { return __builtin_floor(x); }
};
struct CeilOp {
  [[gnu::always_inline]] static float Apply(float x) { return __builtin_ceilf(x); }
  [[gnu::always_inline]] static double Apply(double x) { return __builtin_ceil(x); }
};
// Half to even; integers as they are.
struct RintOp {
  [[gnu::always_inline]] static float Apply(float x) { return __builtin_rintf(x); }
  [[gnu::always_inline]] static double Apply(double x) { return __builtin_rint(x); }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_FLOAT_OPS_H_

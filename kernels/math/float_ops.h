#ifndef SLUICE_KERNELS_MATH_FLOAT_OPS_H_
#define SLUICE_KERNELS_MATH_FLOAT_OPS_H_

// Functors of roots, exponentials, logarithms and rounding: float by float_math.h, double and complex by the standard
// library. See Note [Functors].

#include <cmath>
#include <complex>

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
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    return std::complex<T>(1) / std::sqrt(x);
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
  // exp(a + bi) - 1 = (expm1(a) cos b - 2 sin(b/2)^2) + i exp(a) sin b, which loses nothing near 0.
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    const T half_sine = std::sin(x.imag() / 2);
    return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half_sine * half_sine,
            std::exp(x.real()) * std::sin(x.imag())};
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
    return std::log(T(1) + x);
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

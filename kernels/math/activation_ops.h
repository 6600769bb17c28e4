#ifndef SLUICE_KERNELS_MATH_ACTIVATION_OPS_H_
#define SLUICE_KERNELS_MATH_ACTIVATION_OPS_H_

// Functors of activations and of gradients that are one formula per element. See Note [Functors].

#include <cmath>
#include <complex>
#include <type_traits>

#include "kernels/math/float_math.h"
#include "kernels/math/functor.h"

namespace sluice {

// exp and its kin for the bodies below, by type.
[[gnu::always_inline]] inline float ExpOf(float x) { return float_math::Exp(x); }
inline double ExpOf(double x) { return std::exp(x); }
[[gnu::always_inline]] inline float Expm1Of(float x) { return float_math::Expm1(x); }
inline double Expm1Of(double x) { return std::expm1(x); }
// The number that conjugation leaves real ones as they are.
template <typename T>
[[gnu::always_inline]] inline T ConjugateOf(T x) {
  return x;
}
template <typename T>
inline std::complex<T> ConjugateOf(std::complex<T> x) {
  return std::conj(x);
}

// x rounded to T: what a step of TensorFlow's computation in T leaves.
template <typename T>
[[gnu::always_inline]] inline float RoundedTo(float x) {
  return static_cast<float>(T(x));
}

// NaN stays NaN.
struct ReluOp {
  static constexpr float kUnitNs = 0.15f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    return x < T(0) ? T(0) : x;
  }
};
struct Relu6Op {
  static constexpr float kUnitNs = 0.15f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    const T low = x < T(0) ? T(0) : x;
    return low > T(6) ? T(6) : low;
  }
};
// 16-bit floats are rounded at each step: near 0 nothing is left of exp(x) - 1.
struct EluOp {
  static constexpr float kUnitNs = 1.0f;
  static constexpr bool kOwnHalf = true;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    if constexpr (kIsHalf<T>) {
      const float wide = static_cast<float>(x);
      return wide < 0.0f ? T(RoundedTo<T>(ExpOf(wide)) - 1.0f) : x;
    } else {
      const T below = Expm1Of(x);
      return x < T(0) ? below : x;
    }
  }
};
// Scale and scale * alpha of the paper on self-normalizing networks.
struct SeluOp {
  static constexpr float kUnitNs = 1.0f;
  static constexpr double kScale = 1.0507009873554804934193349852946;
  static constexpr double kScaledAlpha = 1.7580993408473768599402175208123;
  static constexpr bool kOwnHalf = true;  // Rounded at each step, the constants, too.
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    if constexpr (kIsHalf<T>) {
      const float wide = static_cast<float>(x);
      const float below = RoundedTo<T>(RoundedTo<T>(ExpOf(wide)) - 1.0f);
      return T(wide < 0.0f ? RoundedTo<T>(static_cast<float>(kScaledAlpha)) * below
                           : RoundedTo<T>(static_cast<float>(kScale)) * wide);
    } else {
      const T below = static_cast<T>(kScaledAlpha) * Expm1Of(x);
      return x < T(0) ? below : static_cast<T>(kScale) * x;
    }
  }
};
// Of 16-bit floats, log1p of the rounded exp; far from 0, x or exp itself, from where TensorFlow's epsilon of T says.
struct SoftplusOp {
  static constexpr float kUnitNs = 2.0f;
  static constexpr bool kOwnHalf = true;
  template <typename T>
  [[gnu::always_inline]] static std::enable_if_t<kIsHalf<T>, T> Apply(T x) {
    constexpr float kFar = std::is_same<T, Half>::value ? 7.0117188f : 2.84375f;
    const float wide = static_cast<float>(x);
    const float e = RoundedTo<T>(ExpOf(wide));
    return wide > kFar ? x : T(wide < -kFar ? e : float_math::Log1p(e));
  }
  [[gnu::always_inline]] static float Apply(float x) { return float_math::Softplus(x); }
  static double Apply(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
};
struct SoftsignOp {
  static constexpr bool kOwnHalf = true;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    if constexpr (kIsHalf<T>) {
      const float wide = static_cast<float>(x);
      return T(wide / RoundedTo<T>(1.0f + __builtin_fabsf(wide)));
    } else {
      return Quotient(x);
    }
  }

 private:
  template <typename T>
  [[gnu::always_inline]] static T Quotient(T x) {
    return x / (T(1) + (x < T(0) ? -x : x));
  }
};
// x and the attr alpha.
struct LeakyReluOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x, T alpha) {
    return x > T(0) ? x : alpha * x;
  }
};

// Of the gradient and the features (or the output, where its name says so). A gradient that is not finite comes
// through as NaN even where the features stop it.
struct ReluGradOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T gradient, T x) {
    return Multiply(gradient, static_cast<T>(x > T(0)));
  }
};
struct Relu6GradOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T gradient, T x) {
    return Multiply(gradient, static_cast<T>((x > T(0)) & (x < T(6))));
  }
};
struct EluGradOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T gradient, T output) {
    return output < T(0) ? (output + T(1)) * gradient : gradient;
  }
};
struct SeluGradOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T gradient, T output) {
    return output < T(0) ? gradient * (output + static_cast<T>(SeluOp::kScaledAlpha))
                         : gradient * static_cast<T>(SeluOp::kScale);
  }
};
struct SoftplusGradOp {
  static constexpr float kUnitNs = 1.5f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T gradient, T x) {
    return gradient / (T(1) + ExpOf(-x));
  }
};
struct SoftsignGradOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T gradient, T x) {
    const T sum = T(1) + (x < T(0) ? -x : x);
    return gradient / (sum * sum);
  }
};

// Of the output y and the gradient dy, after TensorFlow: only the three last conjugate y, and these are 0 where dy is.
// 16-bit floats are rounded at each step: where y is near 1, much of 1 - y^2 is the rounding of the square.
struct TanhGradOp {
  static constexpr float kUnitNs = 0.2f;
  static constexpr bool kOwnHalf = true;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T y, T dy) {
    if constexpr (kIsHalf<T>) {
      const float wide = static_cast<float>(y);
      return T(static_cast<float>(dy) * RoundedTo<T>(1.0f - RoundedTo<T>(wide * wide)));
    } else {
      return dy * (T(1) - y * y);
    }
  }
};
struct SigmoidGradOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T y, T dy) {
    return dy * y * (T(1) - y);
  }
};
struct ReciprocalGradOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T y, T dy) {
    const T output = ConjugateOf(y);
    return dy == T(0) ? T(0) : -dy * output * output;
  }
};
struct SqrtGradOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T y, T dy) {
    return dy == T(0) ? T(0) : T(0.5) * dy / ConjugateOf(y);
  }
};
struct RsqrtGradOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T y, T dy) {
    const T output = ConjugateOf(y);
    return dy == T(0) ? T(0) : T(-0.5) * (dy * output) * (output * output);
  }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_ACTIVATION_OPS_H_

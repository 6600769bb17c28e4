#ifndef SLUICE_KERNELS_OPTIMIZERS_UPDATE_MATH_H_
#define SLUICE_KERNELS_OPTIMIZERS_UPDATE_MATH_H_

// What updates compute with, for each type of number: float, double, std::complex<double> and Rounded.
// Inlined code only: loops over these are compiled for several instruction sets.

#include <array>
#include <cmath>
#include <complex>
#include <type_traits>

#include "kernels/optimizers/rounded.h"

namespace sluice {

inline constexpr int kMaxUpdateScalars = 7;
// Hyperparameters in the order of the op's signature, as numbers of type N.
template <typename N>
using UpdateScalars = std::array<N, kMaxUpdateScalars>;

// The type of the arrays that hold numbers of type N.
template <typename N>
using ElementOf = std::conditional_t<std::is_same_v<N, Rounded>, float, N>;

// `value` as a number of the type of `like`.
template <typename N>
[[gnu::always_inline]] inline N Constant(const N& like, float value) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return like.Result(value);
  } else {
    return N(value);
  }
}

template <typename N>
[[gnu::always_inline]] inline N Square(const N& x) {
  return x * x;
}
template <typename N>
[[gnu::always_inline]] inline N Sqrt(const N& x) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return x.Result(std::sqrt(x.value()));
  } else {
    return std::sqrt(x);
  }
}
template <typename N>
[[gnu::always_inline]] inline N Rsqrt(const N& x) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return x.ReciprocalRoot();
  } else {
    return N(1) / std::sqrt(x);
  }
}

// --- Real numbers only ---------------------------------------------------------------------------------------------
template <typename N>
[[gnu::always_inline]] inline N Abs(const N& x) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return x.Result(std::abs(x.value()));
  } else {
    return std::abs(x);
  }
}
// -1, 0 or 1; NaN stays NaN.
template <typename N>
[[gnu::always_inline]] inline N Sign(const N& x) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return x.Result(Sign(x.value()));
  } else {
    const N sign = static_cast<N>((x > N(0) ? 1 : 0) - (x < N(0) ? 1 : 0));
    return x == x ? sign : x;
  }
}
// `a` where either is NaN.
template <typename N>
[[gnu::always_inline]] inline N Larger(const N& a, const N& b) {
  return a < b ? b : a;
}
template <typename N>
[[gnu::always_inline]] inline N Smaller(const N& a, const N& b) {
  return b < a ? b : a;
}
template <typename N>
[[gnu::always_inline]] inline N Exp(const N& x) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return x.Result(std::exp(x.value()));
  } else {
    return std::exp(x);
  }
}
template <typename N>
[[gnu::always_inline]] inline N Pow(const N& x, const N& y) {
  if constexpr (std::is_same_v<N, Rounded>) {
    return x.Result(std::pow(x.value(), y.value()));
  } else {
    return std::pow(x, y);
  }
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_OPTIMIZERS_UPDATE_MATH_H_

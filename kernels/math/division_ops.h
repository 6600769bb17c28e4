#ifndef SLUICE_KERNELS_MATH_DIVISION_OPS_H_
#define SLUICE_KERNELS_MATH_DIVISION_OPS_H_

// Functors of quotients and remainders. See Note [Functors]. Integers: a zero divisor clears `ok`; the smallest number
// by -1 wraps to itself, with remainder 0. Half and BFloat16: quotients are rounded to the type before they are
// rounded to whole numbers.

#include <cmath>
#include <type_traits>

#include "kernels/math/functor.h"

namespace sluice {
namespace division {

// a / b and a % b as C++ gives them, for every a and b. The result for a zero divisor means nothing.
template <typename T>
[[gnu::always_inline]] inline T Quotient(T a, T b, bool& ok) {
  if (b == 0) {
    ok = false;
    return T(0);
  }
  if (std::is_signed<T>::value && b == T(-1)) return Subtract(T(0), a);
  return static_cast<T>(a / b);
}
template <typename T>
[[gnu::always_inline]] inline T Remainder(T a, T b, bool& ok) {
  if (b == 0) {
    ok = false;
    return T(0);
  }
  if (std::is_signed<T>::value && b == T(-1)) return T(0);
  return static_cast<T>(a % b);
}

// The quotient rounded to T, as a float to round further.
template <typename T>
[[gnu::always_inline]] inline auto RoundedQuotient(T a, T b) {
  if constexpr (kIsHalf<T>) {
    return static_cast<float>(T(static_cast<float>(a) / static_cast<float>(b)));
  } else {
    return a / b;
  }
}

}  // namespace division

// Toward zero; `zero` is what a zero divisor means.
template <Failure kZero>
struct TruncateDivOpOf {
  static constexpr float kUnitNs = 1.5f;
  static constexpr bool kOwnHalf = true;
  static constexpr Failure kFailure = kZero;
  template <typename T>
  static T Apply(T a, T b, bool& ok) {
    return division::Quotient(a, b, ok);
  }
  template <typename T>
  static T Apply(T a, T b) {
    return T(std::trunc(division::RoundedQuotient(a, b)));
  }
};
using TruncateDivOp = TruncateDivOpOf<Failure::kInternalDivisionByZero>;

// Div of integers.
using IntegerDivOp = TruncateDivOpOf<Failure::kDivisionByZero>;

struct FloorDivOp {
  static constexpr float kUnitNs = 1.5f;
  static constexpr bool kOwnHalf = true;
  static constexpr Failure kFailure = Failure::kDivisionByZero;
  template <typename T>
  static T Apply(T a, T b, bool& ok) {
    const T quotient = division::Quotient(a, b, ok);
    if constexpr (std::is_signed<T>::value) {
      const bool is_rounded_up = ok && (a < 0) != (b < 0) && division::Remainder(a, b, ok) != 0;
      return is_rounded_up ? static_cast<T>(quotient - 1) : quotient;
    }
    return quotient;
  }
  template <typename T>
  static T Apply(T a, T b) {
    return T(std::floor(division::RoundedQuotient(a, b)));
  }
};

// With the sign of the divisor.
struct FloorModOp {
  static constexpr float kUnitNs = 2.0f;
  static constexpr Failure kFailure = Failure::kDivisionByZero;
  template <typename T>
  static T Apply(T a, T b, bool& ok) {
    const T remainder = division::Remainder(a, b, ok);
    if constexpr (std::is_signed<T>::value) {
      return remainder != 0 && (remainder < 0) != (b < 0) ? static_cast<T>(remainder + b) : remainder;
    }
    return remainder;
  }
  template <typename T>
  static T Apply(T a, T b) {
    const T remainder = std::fmod(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  }
};

// With the sign of the dividend.
template <Failure kZero>
struct TruncateModOpOf {
  static constexpr float kUnitNs = 2.0f;
  static constexpr Failure kFailure = kZero;
  template <typename T>
  static T Apply(T a, T b, bool& ok) {
    return division::Remainder(a, b, ok);
  }
  template <typename T>
  static T Apply(T a, T b) {
    return std::fmod(a, b);
  }
};
using ModOp = TruncateModOpOf<Failure::kDivisionByZero>;
using TruncateModOp = TruncateModOpOf<Failure::kInternalDivisionByZero>;

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_DIVISION_OPS_H_

#ifndef SLUICE_KERNELS_MATH_ARITHMETIC_OPS_H_
#define SLUICE_KERNELS_MATH_ARITHMETIC_OPS_H_

// Functors of the plain arithmetic and comparing ops. See Note [Functors].

#include <complex>
#include <type_traits>

#include "kernels/math/functor.h"

namespace sluice {

struct AddOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    return Add(a, b);
  }
};
struct SubOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    return Subtract(a, b);
  }
};
struct MulOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    return Multiply(a, b);
  }
};
// Of floats and complex numbers; integers are in division_ops.h.
struct DivOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    return a / b;
  }
};
struct DivNoNanOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    return b == T(0) ? T(0) : a / b;
  }
};
struct MulNoNanOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    return b == T(0) ? T(0) : Multiply(a, b);
  }
};
// NaN when either is.
struct MaximumOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct MinimumOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
// Of complex numbers: the difference times its conjugate. Of 16-bit floats, the difference is rounded, too.
struct SquaredDifferenceOp {
  static constexpr bool kOwnHalf = true;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T a, T b) {
    if constexpr (kIsHalf<T>) {
      const float difference = static_cast<float>(T(static_cast<float>(a) - static_cast<float>(b)));
      return T(difference * difference);
    } else {
      const T difference = Subtract(a, b);
      return Multiply(difference, difference);
    }
  }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> a, std::complex<T> b) {
    const std::complex<T> difference = a - b;
    return std::conj(difference) * difference;
  }
};

struct LessOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static bool Apply(const T& a, const T& b) {
    return a < b;
  }
};
struct LessEqualOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static bool Apply(const T& a, const T& b) {
    return a <= b;
  }
};
struct GreaterOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static bool Apply(const T& a, const T& b) {
    return a > b;
  }
};
struct GreaterEqualOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static bool Apply(const T& a, const T& b) {
    return a >= b;
  }
};
struct EqualOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static bool Apply(const T& a, const T& b) {
    return a == b;
  }
};
struct NotEqualOp {
  static constexpr float kUnitNs = 0.2f;
  template <typename T>
  [[gnu::always_inline]] static bool Apply(const T& a, const T& b) {
    return a != b;
  }
};

struct AbsOp {
  static constexpr float kUnitNs = 0.15f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    if constexpr (std::is_same<T, float>::value) {
      return __builtin_fabsf(x);
    } else if constexpr (std::is_same<T, double>::value) {
      return __builtin_fabs(x);
    } else if constexpr (std::is_unsigned<T>::value) {
      return x;
    } else {
      return x < 0 ? Subtract(T(0), x) : x;
    }
  }
};
struct NegOp {
  static constexpr float kUnitNs = 0.15f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    if constexpr (std::is_integral<T>::value) {
      return Subtract(T(0), x);
    } else {
      return -x;
    }
  }
};
struct SquareOp {
  static constexpr float kUnitNs = 0.15f;
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    return Multiply(x, x);
  }
};
// 1/x; of integers as C++ divides, 0 for 0.
struct ReciprocalOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    if constexpr (std::is_integral<T>::value) {
      return x == 0 ? T(0) : static_cast<T>(T(1) / x);
    } else {
      return T(1) / x;
    }
  }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_ARITHMETIC_OPS_H_

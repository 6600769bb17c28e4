#ifndef SLUICE_KERNELS_ELEMENT_MATH_H_
#define SLUICE_KERNELS_ELEMENT_MATH_H_

// Arithmetic on single elements for updates in place: integers wrap around, 16-bit floats are computed as float, and
// bools as 0 and 1, where every result other than 0 is true.

#include <complex>
#include <type_traits>

#include "kernels/element_type.h"

namespace sluice {

// `op` on two elements in the type that its arithmetic is done in.
template <typename T, typename Op>
inline T Computed(T a, T b, Op op) {
  if constexpr (kIsHalf<T>) {
    return T(op(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return op(static_cast<int>(a), static_cast<int>(b)) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(op(static_cast<WrapType<T>>(a), static_cast<WrapType<T>>(b)));
  } else {
    return op(a, b);
  }
}

struct AddElements {
  template <typename T>
  T operator()(T a, T b) const {
    return Computed(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct SubtractElements {
  template <typename T>
  T operator()(T a, T b) const {
    return Computed(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct MultiplyElements {
  template <typename T>
  T operator()(T a, T b) const {
    return Computed(a, b, [](auto x, auto y) { return x * y; });
  }
};
// REQUIRES for integers: b != 0. The most negative number over -1 stays itself.
struct DivideElements {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (kIsHalf<T>) {
      return T(static_cast<float>(a) / static_cast<float>(b));
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return b == T{-1} ? SubtractElements()(T{0}, a) : static_cast<T>(a / b);
    } else {
      return static_cast<T>(a / b);
    }
  }
};
struct MinElements {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (kIsHalf<T>) {
      return static_cast<float>(b) < static_cast<float>(a) ? b : a;
    } else {
      return b < a ? b : a;
    }
  }
};
struct MaxElements {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (kIsHalf<T>) {
      return static_cast<float>(a) < static_cast<float>(b) ? b : a;
    } else {
      return a < b ? b : a;
    }
  }
};
struct ReplaceElements {
  template <typename T>
  T operator()(const T&, const T& b) const {
    return b;
  }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_ELEMENT_MATH_H_

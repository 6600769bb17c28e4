#ifndef SLUICE_KERNELS_MATH_CAST_OPS_H_
#define SLUICE_KERNELS_MATH_CAST_OPS_H_

// How one element becomes another dtype, after TensorFlow: what x86 gives where C++ says nothing.

#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/math/functor.h"

namespace sluice {
namespace cast {

// Whether truncating x gives a number of Int (no more than 64 bits).
template <typename Int, typename F>
[[gnu::always_inline]] inline bool IsInRangeOf(F x) {
  constexpr F kUpper = static_cast<F>(Int(1) << (std::numeric_limits<Int>::digits - 1)) * F(2);
  return x < kUpper && x >= -kUpper;  // False for NaN.
}

// Toward zero. Numbers out of range and NaN give the smallest of int32 (for results of up to 32 bits, but uint32) or of
// int64, cut to the width of the result.
template <typename Int, typename F>
[[gnu::always_inline]] inline Int ToInteger(F x) {
  if constexpr (std::is_same<Int, uint64_t>::value) {
    constexpr uint64_t kTop = uint64_t{1} << 63;
    if (IsInRangeOf<int64_t>(x)) return static_cast<uint64_t>(static_cast<int64_t>(x));
    return kTop | static_cast<uint64_t>(ToInteger<int64_t>(x - static_cast<F>(kTop)));
  } else {
    using Wide = std::conditional_t<(sizeof(Int) > 4 || std::is_same<Int, uint32_t>::value), int64_t, int32_t>;
    return static_cast<Int>(IsInRangeOf<Wide>(x) ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min());
  }
}

// Complex numbers lose their imaginary part; to bool: whether x is not 0.
template <typename To, typename From>
[[gnu::always_inline]] inline To Convert(From x) {
  if constexpr (std::is_same<To, From>::value) {
    return x;
  } else if constexpr (kIsHalf<From>) {
    return Convert<To>(static_cast<float>(x));
  } else if constexpr (kIsComplex<From> && !kIsComplex<To>) {
    return Convert<To>(x.real());
  } else if constexpr (kIsComplex<To>) {
    using Part = typename To::value_type;
    if constexpr (kIsComplex<From>) {
      return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
    } else {
      return To(Convert<Part>(x));
    }
  } else if constexpr (std::is_same<To, bool>::value) {
    return x != From(0);
  } else if constexpr (kIsHalf<To>) {
    return To(Convert<float>(x));
  } else if constexpr (std::is_integral<To>::value && std::is_floating_point<From>::value) {
    return ToInteger<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// x with the last `kBits` bits of its mantissa cleared.
template <int kBits, typename F>
[[gnu::always_inline]] inline F ClearLowBits(F x) {
  using Bits = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
  return __builtin_bit_cast(F, __builtin_bit_cast(Bits, x) & (~Bits{0} << kBits));
}

// Bits of the mantissa after the point.
template <typename T>
inline constexpr int kMantissaBits = std::is_same<T, double>::value  ? 52
                                     : std::is_same<T, float>::value ? 23
                                     : std::is_same<T, Half>::value  ? 10
                                                                     : 7;
template <typename T>
struct PartOf {
  using Type = T;
};
template <typename T>
struct PartOf<std::complex<T>> {
  using Type = T;
};

// Whether the attr Truncate does something: from float or double to a narrower type; TensorFlow leaves out double to
// bfloat16.
template <typename From, typename To>
constexpr bool CanTruncate() {
  using F = typename PartOf<From>::Type;
  using T = typename PartOf<To>::Type;
  if (kIsComplex<To> && !kIsComplex<From>) {
    return std::is_same<F, double>::value && std::is_same<T, float>::value;
  }
  if (std::is_same<F, double>::value) return std::is_same<T, float>::value || std::is_same<T, Half>::value;
  return std::is_same<F, float>::value && kIsHalf<T>;
}

}  // namespace cast

// The functor. See Note [Functors].
template <typename To>
struct CastOp {
  static constexpr bool kOwnHalf = true;
  template <typename From>
  [[gnu::always_inline]] static To Apply(From x) {
    return cast::Convert<To>(x);
  }
};

// The same with the attr Truncate: toward zero. REQUIRES: cast::CanTruncate<From, To>().
template <typename To>
struct TruncatingCastOp {
  static constexpr bool kOwnHalf = true;
  template <typename From>
  [[gnu::always_inline]] static To Apply(From x) {
    // TensorFlow knows no mantissa of complex numbers: all of a double's goes, and the exponent's last bit.
    constexpr bool kAll = !kIsComplex<From> && kIsComplex<To>;
    constexpr int kDropped = kAll ? 53
                                  : cast::kMantissaBits<typename cast::PartOf<From>::Type> -
                                        cast::kMantissaBits<typename cast::PartOf<To>::Type>;
    if constexpr (kIsComplex<From>) {
      return cast::Convert<To>(From(cast::ClearLowBits<kDropped>(x.real()), cast::ClearLowBits<kDropped>(x.imag())));
    } else {
      return cast::Convert<To>(cast::ClearLowBits<kDropped>(x));
    }
  }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_CAST_OPS_H_

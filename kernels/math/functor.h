#ifndef SLUICE_KERNELS_MATH_FUNCTOR_H_
#define SLUICE_KERNELS_MATH_FUNCTOR_H_

// Note [Functors]
// What an elementwise op does to one element is a small struct with a static Apply, for all its C++ types:
//
//   struct SquareOp {
//     template <typename T>
//     [[gnu::always_inline]] static T Apply(T x) { return Multiply(x, x); }
//   };
//
// InvokeUnary and InvokeBinary call it. Half and BFloat16 are computed in float and rounded once, unless the struct
// says `kOwnHalf = true` and takes them itself. Optional members: `kUnitNs`, the time of one element (for sharding);
// `kFailure`, then Apply has a last parameter `bool& ok` that it clears for operands without a result.
//
// This file and the functors that loops.h compiles for several instruction sets hold nothing but inlined code: a
// function with a symbol of its own might be linked from the wrong set.

#include <type_traits>

#include "kernels/element_type.h"

namespace sluice {

// What it means that a functor cleared `ok`.
enum class Failure : unsigned char {
  kNone,
  kDivisionByZero,          // INVALID_ARGUMENT
  kInternalDivisionByZero,  // INTERNAL: TruncateDiv and TruncateMod
  kNegativePower,           // INVALID_ARGUMENT
};

template <typename T>
[[gnu::always_inline]] inline T Add(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(static_cast<WrapType<T>>(a) + static_cast<WrapType<T>>(b));
  } else {
    return a + b;
  }
}
template <typename T>
[[gnu::always_inline]] inline T Subtract(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(static_cast<WrapType<T>>(a) - static_cast<WrapType<T>>(b));
  } else {
    return a - b;
  }
}
template <typename T>
[[gnu::always_inline]] inline T Multiply(T a, T b) {
  if constexpr (std::is_integral<T>::value) {
    return static_cast<T>(static_cast<WrapType<T>>(a) * static_cast<WrapType<T>>(b));
  } else {
    return a * b;
  }
}

namespace functor_internal {
template <typename Op, typename = void>
struct OwnHalf : std::false_type {};
template <typename Op>
struct OwnHalf<Op, std::void_t<decltype(Op::kOwnHalf)>> : std::true_type {};

template <typename Op, typename = void>
struct FailureOf {
  static constexpr Failure value = Failure::kNone;
};
template <typename Op>
struct FailureOf<Op, std::void_t<decltype(Op::kFailure)>> {
  static constexpr Failure value = Op::kFailure;
};

template <typename Op, typename = void>
struct UnitNsOf {
  static constexpr float value = 0.5f;
};
template <typename Op>
struct UnitNsOf<Op, std::void_t<decltype(Op::kUnitNs)>> {
  static constexpr float value = Op::kUnitNs;
};

// Rounds what was computed in float back to T; other results stay as they are.
template <typename T, typename R>
[[gnu::always_inline]] inline auto Narrow(R result) {
  if constexpr (kIsHalf<T> && std::is_same<R, float>::value) {
    return T(result);
  } else {
    return result;
  }
}
}  // namespace functor_internal

template <typename Op>
inline constexpr bool kOwnHalf = functor_internal::OwnHalf<Op>::value;
template <typename Op>
inline constexpr Failure kFailureOf = functor_internal::FailureOf<Op>::value;
// Failures are about integers: division of floats always has a result.
template <typename Op, typename T>
inline constexpr bool kCanFail = kFailureOf<Op> != Failure::kNone&& std::is_integral<T>::value;
template <typename Op>
inline constexpr float kUnitNsOf = functor_internal::UnitNsOf<Op>::value;

template <typename Op, typename T>
[[gnu::always_inline]] inline auto InvokeUnary(const T& x) {
  if constexpr (kIsHalf<T> && !kOwnHalf<Op>) {
    return functor_internal::Narrow<T>(Op::Apply(static_cast<float>(x)));
  } else {
    return Op::Apply(x);
  }
}

// Leaves `ok` alone unless the functor can fail.
template <typename Op, typename T>
[[gnu::always_inline]] inline auto InvokeBinary(const T& a, const T& b, bool& ok) {
  if constexpr (kCanFail<Op, T>) {
    return Op::Apply(a, b, ok);
  } else if constexpr (kIsHalf<T> && !kOwnHalf<Op>) {
    return functor_internal::Narrow<T>(Op::Apply(static_cast<float>(a), static_cast<float>(b)));
  } else {
    return Op::Apply(a, b);
  }
}

template <typename Op, typename T>
using UnaryResult = decltype(InvokeUnary<Op, T>(std::declval<const T&>()));
template <typename Op, typename T>
using BinaryResult =
    decltype(InvokeBinary<Op, T>(std::declval<const T&>(), std::declval<const T&>(), std::declval<bool&>()));

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_FUNCTOR_H_

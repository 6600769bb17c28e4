#ifndef SLUICE_KERNELS_REDUCE_REDUCE_OPS_H_
#define SLUICE_KERNELS_REDUCE_REDUCE_OPS_H_

// The operations of the engine (reduce_engine.h), one struct template each.

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/element_type.h"

namespace sluice {
namespace reduce_internal {

// Sums of integers before a division: as wide as there is. Those of 64 bits wrap, as TensorFlow's.
template <typename T>
using MeanAcc = std::conditional_t<std::is_integral<T>::value, std::conditional_t<sizeof(T) == 8, uint64_t, int64_t>,
                                   ComputeType<T>>;

// Sums of squares; integers wrap.
template <typename T, bool kIsInteger = std::is_integral<T>::value>
struct SquareAcc {
  using Type = ComputeType<T>;
};
template <typename T>
struct SquareAcc<T, true> {
  using Type = std::make_unsigned_t<T>;
};

}  // namespace reduce_internal

// Integers wrap: make T unsigned.
template <typename Element>
struct SumOp {
  using T = Element;
  using Acc = ComputeType<T>;
  static Acc Identity() { return Acc(0); }
  static Acc Load(T x) { return static_cast<Acc>(x); }
  static Acc Combine(Acc a, Acc b) { return static_cast<Acc>(a + b); }
  static T Finish(Acc acc, int64_t) { return static_cast<T>(acc); }
};

// Integers wrap: make T unsigned.
template <typename Element>
struct ProdOp {
  using T = Element;
  using Acc = ComputeType<T>;
  static Acc Identity() { return Acc(1); }
  static Acc Load(T x) { return static_cast<Acc>(x); }
  static Acc Combine(Acc a, Acc b) {
    if constexpr (sizeof(Acc) < sizeof(int)) {
      return static_cast<Acc>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    } else if constexpr (kIsComplex<T>) {
      // Without the special cases of the standard for infinities, as TensorFlow.
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    } else {
      return a * b;
    }
  }
  static T Finish(Acc acc, int64_t) { return static_cast<T>(acc); }
};

// Integers are rounded towards zero. The mean of nothing is NaN, of integers and of complex numbers 0.
template <typename Element>
struct MeanOp {
  using T = Element;
  using Acc = reduce_internal::MeanAcc<T>;
  static Acc Identity() { return Acc(0); }
  static Acc Load(T x) { return static_cast<Acc>(x); }
  static Acc Combine(Acc a, Acc b) { return a + b; }
  static T Finish(Acc acc, int64_t count) {
    if constexpr (std::is_integral<T>::value) {
      using Signed = std::conditional_t<sizeof(T) == 8, T, int64_t>;
      return count == 0 ? T(0) : static_cast<T>(static_cast<Signed>(acc) / static_cast<Signed>(count));
    } else if constexpr (kIsComplex<T>) {
      // By count + 0i without the special cases of the standard, as TensorFlow: an infinite part makes the other a NaN.
      using V = typename T::value_type;
      const V n = static_cast<V>(count);
      return count == 0 ? T(0) : T((acc.real() + acc.imag() * V(0)) / n, (acc.imag() - acc.real() * V(0)) / n);
    } else {
      return static_cast<T>(acc / static_cast<Acc>(count));
    }
  }
};

// Root of the sum of squared magnitudes; the sum of integers wraps. Squares and sums of 16-bit floats are of their
// type: they overflow, as TensorFlow's.
template <typename Element>
struct EuclideanNormOp {
  using T = Element;
  using Acc = typename reduce_internal::SquareAcc<T>::Type;
  static Acc Identity() { return Acc(0); }
  static Acc Load(T x) {
    if constexpr (kIsComplex<T>) {
      // Times its conjugate, so that an infinity leaves a NaN in the imaginary part.
      return {x.real() * x.real() + x.imag() * x.imag(), x.imag() * x.real() - x.real() * x.imag()};
    } else {
      return static_cast<Acc>(static_cast<T>(ProdOp<Acc>::Combine(static_cast<Acc>(x), static_cast<Acc>(x))));
    }
  }
  static Acc Combine(Acc a, Acc b) { return static_cast<Acc>(a + b); }
  static T Finish(Acc acc, int64_t) {
    if constexpr (std::is_integral<T>::value) {
      const T sum = static_cast<T>(acc);
      // The NaN that the processor returns for the root of a negative number.
      if (sum < T(0)) return sizeof(T) < 4 ? T(0) : std::numeric_limits<T>::min();
      return static_cast<T>(std::sqrt(static_cast<double>(sum)));
    } else {
      return static_cast<T>(std::sqrt(static_cast<Acc>(static_cast<T>(acc))));
    }
  }
};

// A NaN wins.
template <typename Element>
struct MaxOp {
  using T = Element;
  using Acc = ComputeType<T>;
  using Limits = std::numeric_limits<Acc>;
  static Acc Identity() { return Limits::has_infinity ? -Limits::infinity() : Limits::lowest(); }
  static Acc Load(T x) { return static_cast<Acc>(x); }
  static Acc Combine(Acc a, Acc b) { return ((a >= b) | (a != a)) ? a : b; }  // One choice: vector units like it.
  static T Finish(Acc acc, int64_t) { return static_cast<T>(acc); }
};

template <typename Element>
struct MinOp {
  using T = Element;
  using Acc = ComputeType<T>;
  using Limits = std::numeric_limits<Acc>;
  static Acc Identity() { return Limits::has_infinity ? Limits::infinity() : Limits::max(); }
  static Acc Load(T x) { return static_cast<Acc>(x); }
  static Acc Combine(Acc a, Acc b) { return ((a <= b) | (a != a)) ? a : b; }
  static T Finish(Acc acc, int64_t) { return static_cast<T>(acc); }
};

// Bools as bytes.
struct AllOp {
  using T = uint8_t;
  using Acc = uint8_t;
  static Acc Identity() { return 1; }
  static Acc Load(T x) { return x; }
  static Acc Combine(Acc a, Acc b) { return a & b; }
  static T Finish(Acc acc, int64_t) { return acc; }
};

struct AnyOp {
  using T = uint8_t;
  using Acc = uint8_t;
  static Acc Identity() { return 0; }
  static Acc Load(T x) { return x; }
  static Acc Combine(Acc a, Acc b) { return a | b; }
  static T Finish(Acc acc, int64_t) { return acc; }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_REDUCE_OPS_H_

#include <cmath>
#include <complex>

#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// Integers wrap; a negative exponent has no integer result, even of 1.
struct PowOp {
  static constexpr float kUnitNs = 10.0f;
  static constexpr Failure kFailure = Failure::kNegativePower;
  template <typename T>
  static T Apply(T base, T exponent, bool& ok) {
    if (exponent < 0) {
      ok = false;
      return T(0);
    }
    T power = 1;
    for (T rest = exponent; rest > 0; rest = static_cast<T>(rest >> 1)) {
      if ((rest & 1) != 0) power = Multiply(power, base);
      base = Multiply(base, base);
    }
    return power;
  }
  template <typename T>
  static T Apply(T base, T exponent) {
    return std::pow(base, exponent);
  }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> base, std::complex<T> exponent) {
    return std::pow(base, exponent);
  }
};

struct Atan2Op {
  static constexpr float kUnitNs = 15.0f;
  template <typename T>
  static T Apply(T y, T x) {
    return std::atan2(y, x);
  }
};
struct NextAfterOp {
  static constexpr float kUnitNs = 5.0f;
  template <typename T>
  static T Apply(T from, T to) {
    return std::nextafter(from, to);
  }
};

// 0 where x is, whatever y may be.
struct XdivyOp {
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : x / y;
  }
};
struct XlogyOp {
  static constexpr float kUnitNs = 5.0f;
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : x * LogOp::Apply(y);
  }
};
struct Xlog1pyOp {
  static constexpr float kUnitNs = 5.0f;
  template <typename T>
  static T Apply(T x, T y) {
    return x == T(0) ? T(0) : x * Log1pOp::Apply(y);
  }
};

using FloatAndComplex = Join<FloatCppTypes, ComplexCppTypes>;

constexpr KernelRow kRows[] = {
    BinaryRow<PowOp, Join<FloatAndComplex, SignedCppTypes>>("Pow"),
    BinaryRow<Atan2Op, FloatCppTypes>("Atan2"),
    BinaryRow<NextAfterOp, TypeList<float, double>>("NextAfter"),
    BinaryRow<XdivyOp, FloatAndComplex>("Xdivy"),
    BinaryRow<XlogyOp, FloatAndComplex>("Xlogy"),
    BinaryRow<Xlog1pyOp, FloatAndComplex>("Xlog1py"),
};

}  // namespace

absl::Span<const KernelRow> PowerKernels() { return kRows; }

}  // namespace sluice

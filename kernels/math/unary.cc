#include <cmath>

#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// -1, 0 or 1; NaN for NaN; of complex numbers the point on the unit circle, or 0.
struct SignOp {
  template <typename T>
  static T Apply(T x) {
    if constexpr (std::is_integral<T>::value) {
      return static_cast<T>(static_cast<int>(x > 0) - static_cast<int>(x < 0));
    } else {
      return x != x ? x : static_cast<T>(static_cast<int>(x > T(0)) - static_cast<int>(x < T(0)));
    }
  }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    return x == std::complex<T>(0) ? std::complex<T>(0) : x / std::abs(x);
  }
};

// Half to even. Of integers TensorFlow 2.19 makes 0, and so do we.
struct RoundOp {
  template <typename T>
  [[gnu::always_inline]] static T Apply(T x) {
    if constexpr (std::is_integral<T>::value) {
      return T(0);
    } else {
      return RintOp::Apply(x);
    }
  }
};

struct IsNanOp {
  template <typename T>
  static bool Apply(T x) {
    return x != x;
  }
};
struct IsInfOp {
  template <typename T>
  static bool Apply(T x) {
    return std::abs(x) == static_cast<T>(INFINITY);
  }
};
struct IsFiniteOp {
  template <typename T>
  static bool Apply(T x) {
    return std::abs(x) < static_cast<T>(INFINITY);
  }
};

using FloatAndComplex = Join<FloatCppTypes, ComplexCppTypes>;
using SignedNumbers = Join<FloatAndComplex, SignedCppTypes>;

constexpr KernelRow kRows[] = {
    UnaryRow<AbsOp, Join<FloatCppTypes, SignedCppTypes>>("Abs"),
    UnaryRow<NegOp, NumberCppTypes>("Neg"),
    UnaryRow<SignOp, NumberCppTypes>("Sign"),
    UnaryRow<SquareOp, NumberCppTypes>("Square"),
    UnaryRow<SqrtOp, FloatAndComplex>("Sqrt"),
    UnaryRow<RsqrtOp, FloatAndComplex>("Rsqrt"),
    UnaryRow<ReciprocalOp, FloatAndComplex>("Reciprocal"),
    UnaryRow<ReciprocalOp, FloatAndComplex>("Inv"),
    UnaryRow<ExpOp, FloatAndComplex>("Exp"),
    UnaryRow<Expm1Op, FloatAndComplex>("Expm1"),
    UnaryRow<LogOp, FloatAndComplex>("Log"),
    UnaryRow<Log1pOp, FloatAndComplex>("Log1p"),
    UnaryRow<FloorOp, FloatCppTypes>("Floor"),
    UnaryRow<CeilOp, FloatCppTypes>("Ceil"),
    UnaryRow<RintOp, TypeList<float, double>>("Rint"),
    UnaryRow<RoundOp, Join<FloatCppTypes, SignedCppTypes>>("Round"),
    UnaryRow<IsNanOp, FloatCppTypes>("IsNan"),
    UnaryRow<IsInfOp, FloatCppTypes>("IsInf"),
    UnaryRow<IsFiniteOp, FloatCppTypes>("IsFinite"),
};

}  // namespace

absl::Span<const KernelRow> UnaryKernels() { return kRows; }

}  // namespace sluice

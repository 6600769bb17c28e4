#include <cmath>
#include <complex>

#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// The standard library's functions for all types: arguments of any size are reduced exactly.
struct SinOp {
  static constexpr float kUnitNs = 8.0f;
  template <typename T>
  static T Apply(T x) {
    return std::sin(x);
  }
};
struct CosOp {
  static constexpr float kUnitNs = 8.0f;
  template <typename T>
  static T Apply(T x) {
    return std::cos(x);
  }
};
struct TanOp {
  static constexpr float kUnitNs = 15.0f;
  template <typename T>
  static T Apply(T x) {
    return std::tan(x);
  }
};
struct AsinOp {
  static constexpr float kUnitNs = 10.0f;
  template <typename T>
  static T Apply(T x) {
    return std::asin(x);
  }
};
struct AcosOp {
  static constexpr float kUnitNs = 10.0f;
  template <typename T>
  static T Apply(T x) {
    return std::acos(x);
  }
};
struct AtanOp {
  static constexpr float kUnitNs = 10.0f;
  template <typename T>
  static T Apply(T x) {
    return std::atan(x);
  }
};
struct SinhOp {
  static constexpr float kUnitNs = 10.0f;
  template <typename T>
  static T Apply(T x) {
    return std::sinh(x);
  }
};
struct CoshOp {
  static constexpr float kUnitNs = 10.0f;
  template <typename T>
  static T Apply(T x) {
    return std::cosh(x);
  }
};
struct AsinhOp {
  static constexpr float kUnitNs = 15.0f;
  template <typename T>
  static T Apply(T x) {
    return std::asinh(x);
  }
};
struct AcoshOp {
  static constexpr float kUnitNs = 15.0f;
  template <typename T>
  static T Apply(T x) {
    return std::acosh(x);
  }
};
struct AtanhOp {
  static constexpr float kUnitNs = 15.0f;
  template <typename T>
  static T Apply(T x) {
    return std::atanh(x);
  }
};

using FloatAndComplex = Join<FloatCppTypes, ComplexCppTypes>;

constexpr KernelRow kRows[] = {
    UnaryRow<SinOp, FloatAndComplex>("Sin"),     UnaryRow<CosOp, FloatAndComplex>("Cos"),
    UnaryRow<TanOp, FloatAndComplex>("Tan"),     UnaryRow<AsinOp, FloatAndComplex>("Asin"),
    UnaryRow<AcosOp, FloatAndComplex>("Acos"),   UnaryRow<AtanOp, FloatAndComplex>("Atan"),
    UnaryRow<SinhOp, FloatAndComplex>("Sinh"),   UnaryRow<CoshOp, FloatAndComplex>("Cosh"),
    UnaryRow<AsinhOp, FloatAndComplex>("Asinh"), UnaryRow<AcoshOp, FloatAndComplex>("Acosh"),
    UnaryRow<AtanhOp, FloatAndComplex>("Atanh"),
};

}  // namespace

absl::Span<const KernelRow> TrigonometryKernels() { return kRows; }

}  // namespace sluice

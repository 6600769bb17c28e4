#include "kernels/math/complex_parts.h"

#include <cmath>
#include <complex>

#include "kernels/math/elementwise.h"

namespace sluice {
namespace {

struct ComplexOp {
  template <typename T>
  static std::complex<T> Apply(T real, T imaginary) {
    return {real, imaginary};
  }
};
struct RealOp {
  template <typename T>
  static T Apply(std::complex<T> x) {
    return x.real();
  }
};
struct ImagOp {
  template <typename T>
  static T Apply(std::complex<T> x) {
    return x.imag();
  }
};
struct ConjOp {
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x) {
    return std::conj(x);
  }
};
struct AngleOp {
  static constexpr float kUnitNs = 15.0f;
  template <typename T>
  static T Apply(std::complex<T> x) {
    return std::arg(x);
  }
};
struct ComplexAbsOp {
  static constexpr float kUnitNs = 5.0f;
  template <typename T>
  static T Apply(std::complex<T> x) {
    return std::abs(x);
  }
};

constexpr KernelDef kKernels[] = {
    BinaryRow<ComplexOp, TypeList<float, double>>("Complex"),
    UnaryRow<RealOp, ComplexCppTypes>("Real"),
    UnaryRow<ImagOp, ComplexCppTypes>("Imag"),
    UnaryRow<ConjOp, ComplexCppTypes>("Conj"),
    UnaryRow<AngleOp, ComplexCppTypes>("Angle"),
    UnaryRow<ComplexAbsOp, ComplexCppTypes>("ComplexAbs"),
};

}  // namespace

absl::Span<const KernelDef> ComplexPartsKernels() { return kKernels; }

}  // namespace sluice

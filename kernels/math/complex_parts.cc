#include <cmath>
#include <complex>

#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

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

// The attr Tout is the node's to choose: rows are for those results that the functors give.
constexpr DTypeSet kToFloat{DType::kFloat};
constexpr DTypeSet kToDouble{DType::kDouble};
constexpr DTypeSet kFromComplex64{DType::kComplex64};
constexpr DTypeSet kFromComplex128{DType::kComplex128};

template <typename Op>
constexpr KernelRow PartRow(absl::string_view op, DTypeSet from, DTypeSet to) {
  return KernelRow(op, &MakeUnary<Op, ComplexCppTypes>).Types("T", from).Types("Tout", to);
}
constexpr KernelRow ComplexRow(DType part, DType whole) {
  return KernelRow("Complex", &MakeBinary<ComplexOp, TypeList<float, double>>)
      .Types("T", {part})
      .Types("Tout", {whole});
}

constexpr KernelRow kRows[] = {
    ComplexRow(DType::kFloat, DType::kComplex64),
    ComplexRow(DType::kDouble, DType::kComplex128),
    PartRow<RealOp>("Real", kFromComplex64, kToFloat),
    PartRow<RealOp>("Real", kFromComplex128, kToDouble),
    PartRow<ImagOp>("Imag", kFromComplex64, kToFloat),
    PartRow<ImagOp>("Imag", kFromComplex128, kToDouble),
    UnaryRow<ConjOp, ComplexCppTypes>("Conj"),
    PartRow<AngleOp>("Angle", kFromComplex64, kToFloat),
    PartRow<AngleOp>("Angle", kFromComplex128, kToDouble),
    PartRow<ComplexAbsOp>("ComplexAbs", kFromComplex64, kToFloat),
    PartRow<ComplexAbsOp>("ComplexAbs", kFromComplex128, kToDouble),
};

}  // namespace

absl::Span<const KernelRow> ComplexPartsKernels() { return kRows; }

}  // namespace sluice

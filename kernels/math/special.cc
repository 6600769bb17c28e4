#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/kernel.h"
#include "kernels/math/bessel.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"
#include "kernels/math/gamma_derivatives.h"
#include "kernels/math/integrals.h"
#include "kernels/math/special_functions.h"

namespace sluice {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Computed in double and rounded once, whatever T is.
template <double (*kFunction)(double)>
struct SpecialUnaryOp {
  static constexpr float kUnitNs = 100.0f;
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(kFunction(x));
  }
};
// Those of Bessel's functions that end, in TensorFlow, where an intermediate result of type T does.
// I: in double, exp(x) ends by itself.
template <double (*kFunction)(double)>
struct BesselIOp : SpecialUnaryOp<kFunction> {
  template <typename T>
  static T Apply(T x) {
    const double y = kFunction(x);
    constexpr float kEnd = 88.72283935546875f;  // The first float beyond log of the largest one.
    if (std::is_same_v<T, float> && std::abs(x) >= kEnd) return static_cast<T>(y * kInf);
    return static_cast<T>(y);
  }
};
// K, of order 0 or 1: half of the smallest numbers counts as 0, whose logarithm is left over, or 0 times that.
template <double (*kFunction)(double), int kOrder>
struct BesselKOp : SpecialUnaryOp<kFunction> {
  template <typename T>
  static T Apply(T x) {
    constexpr T kMin = std::numeric_limits<T>::min();
    if (x >= kMin && x < 2 * kMin) return static_cast<T>(kOrder == 0 ? kInf : kNan);
    return static_cast<T>(kFunction(x));
  }
};
// Y of order 1: in float, not a number at 0.
struct BesselY1Op : SpecialUnaryOp<&special::BesselY1> {
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(std::is_same_v<T, float> && x == 0 ? kNan : special::BesselY1(x));
  }
};
template <double (*kFunction)(double, double)>
struct SpecialBinaryOp {
  static constexpr float kUnitNs = 200.0f;
  template <typename T>
  static T Apply(T a, T b) {
    return static_cast<T>(kFunction(a, b));
  }
};

// Each of the three inputs is a scalar or has the shape of the others.
template <typename T>
class BetaincKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Shape& a = context.input(0).shape();
    const Shape& b = context.input(1).shape();
    const Shape& x = context.input(2).shape();
    const Shape& shape = !a.IsScalar() ? a : !b.IsScalar() ? b : x;
    for (const Shape* one : {&a, &b, &x}) {
      if (!one->IsScalar() && *one != shape) return NotSameShape(shape, *one);
    }
    const T* const a_data = context.input(0).flat<T>().data();
    const T* const b_data = context.input(1).flat<T>().data();
    const T* const x_data = context.input(2).flat<T>().data();
    const int64_t a_step = a.IsScalar() ? 0 : 1;
    const int64_t b_step = b.IsScalar() ? 0 : 1;
    const int64_t x_step = x.IsScalar() ? 0 : 1;
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.AllocateOutput(0, shape));
    T* const out = y->flat<T>().data();
    ForShards(context, shape.num_elements(), 200.0f, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(special::Betainc(a_data[i * a_step], b_data[i * b_step], x_data[i * x_step]));
      }
    });
    return absl::OkStatus();
  }
};

using FloatAndDouble = TypeList<float, double>;
using BesselTypes = TypeList<float, double, Half>;

constexpr KernelRow kRows[] = {
    UnaryRow<ErfOp, FloatCppTypes>("Erf"),
    UnaryRow<ErfcOp, FloatCppTypes>("Erfc"),
    UnaryRow<SpecialUnaryOp<&special::Erfinv>, FloatAndDouble>("Erfinv"),
    UnaryRow<SpecialUnaryOp<&special::Ndtri>, FloatAndDouble>("Ndtri"),
    UnaryRow<SpecialUnaryOp<&special::Lgamma>, FloatCppTypes>("Lgamma"),
    UnaryRow<SpecialUnaryOp<&special::Digamma>, FloatCppTypes>("Digamma"),
    UnaryRow<BesselIOp<&special::BesselI0>, BesselTypes>("BesselI0"),
    UnaryRow<SpecialUnaryOp<&special::BesselI0e>, BesselTypes>("BesselI0e"),
    UnaryRow<BesselIOp<&special::BesselI1>, BesselTypes>("BesselI1"),
    UnaryRow<SpecialUnaryOp<&special::BesselI1e>, BesselTypes>("BesselI1e"),
    UnaryRow<SpecialUnaryOp<&special::BesselJ0>, BesselTypes>("BesselJ0"),
    UnaryRow<SpecialUnaryOp<&special::BesselJ1>, BesselTypes>("BesselJ1"),
    UnaryRow<BesselKOp<&special::BesselK0, 0>, BesselTypes>("BesselK0"),
    UnaryRow<BesselKOp<&special::BesselK0e, 0>, BesselTypes>("BesselK0e"),
    UnaryRow<BesselKOp<&special::BesselK1, 1>, BesselTypes>("BesselK1"),
    UnaryRow<BesselKOp<&special::BesselK1e, 1>, BesselTypes>("BesselK1e"),
    UnaryRow<SpecialUnaryOp<&special::BesselY0>, BesselTypes>("BesselY0"),
    UnaryRow<BesselY1Op, BesselTypes>("BesselY1"),
    UnaryRow<SpecialUnaryOp<&special::Dawsn>, FloatAndDouble>("Dawsn"),
    UnaryRow<SpecialUnaryOp<&special::Expint>, FloatAndDouble>("Expint"),
    UnaryRow<SpecialUnaryOp<&special::FresnelCos>, FloatAndDouble>("FresnelCos"),
    UnaryRow<SpecialUnaryOp<&special::FresnelSin>, FloatAndDouble>("FresnelSin"),
    UnaryRow<SpecialUnaryOp<&special::Spence>, FloatAndDouble>("Spence"),
    BinaryRow<SpecialBinaryOp<&special::Igamma>, FloatAndDouble>("Igamma"),
    BinaryRow<SpecialBinaryOp<&special::Igammac>, FloatAndDouble>("Igammac"),
    BinaryRow<SpecialBinaryOp<&special::IgammaGradA>, FloatAndDouble>("IgammaGradA"),
    BinaryRow<SpecialBinaryOp<&special::GammaSampleGrad>, FloatAndDouble>("RandomGammaGrad"),
    BinaryRow<SpecialBinaryOp<&special::Zeta>, FloatAndDouble>("Zeta"),
    BinaryRow<SpecialBinaryOp<&special::Polygamma>, FloatAndDouble>("Polygamma"),
    KernelRow("Betainc", &NewByType<BetaincKernel, FloatAndDouble>).Types("T", SetOf(FloatAndDouble())),
};

}  // namespace

absl::Span<const KernelRow> SpecialKernels() { return kRows; }

}  // namespace sluice

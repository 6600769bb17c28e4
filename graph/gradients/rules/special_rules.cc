// Gradients of special functions.

#include <cmath>

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrtPi = 1.77245385090551602730;
constexpr double kSqrtTwoPi = 2.50662827463100050242;

Expr Polygamma(const Expr& n, const Expr& x) { return AddOp("Polygamma", {n, x}); }

// --- Of one operand --------------------------------------------------------------------------------------------------
Expr LgammaDx(const Expr& dy, const Expr& x) { return dy * Digamma(x); }
Expr DigammaDx(const Expr& dy, const Expr& x) { return dy * Polygamma(Number(x, 1), x); }
Expr ErfDx(const Expr& dy, const Expr& x) { return dy * (2 / kSqrtPi) * Exp(-Square(x)); }
Expr ErfcDx(const Expr& dy, const Expr& x) { return dy * (-2 / kSqrtPi) * Exp(-Square(x)); }
Expr ErfinvDx(const Expr& dy, const Expr& y) { return dy * (kSqrtPi / 2) * Exp(Square(y)); }
Expr NdtriDx(const Expr& dy, const Expr& y) { return dy * kSqrtTwoPi * Exp(Square(y) / 2.0); }
Expr ExpintDx(const Expr& dy, const Expr& x) { return dy * Exp(x) / x; }
Expr DawsnDx(const Expr& dy, const Expr& x, const Expr& y) { return dy * (1.0 - 2.0 * x * y); }
Expr FresnelCosDx(const Expr& dy, const Expr& x) { return dy * Cos(kPi / 2 * Square(x)); }
Expr FresnelSinDx(const Expr& dy, const Expr& x) { return dy * Sin(kPi / 2 * Square(x)); }

Expr SpenceDx(const Expr& dy, const Expr& x) {
  const Expr one = Number(x, 1);
  return dy * Select(Equal(x, one), -one, Log(x) / (1.0 - x));
}

// --- Bessel functions ------------------------------------------------------------------------------------------------
Expr Bessel(absl::string_view op, const Expr& x) { return AddOp(op, {x}); }
// `value`, but `at_zero` where x is zero.
Expr Except(const Expr& x, double at_zero, const Expr& value) {
  return Select(Equal(x, Zero(x)), Number(x, at_zero), value);
}

Expr I0Dx(const Expr& dy, const Expr& x) { return dy * Bessel("BesselI1", x); }
Expr I0eDx(const Expr& dy, const Expr& x, const Expr& y) { return dy * (Bessel("BesselI1e", x) - Sign(x) * y); }
Expr I1Dx(const Expr& dy, const Expr& x, const Expr& y) { return dy * Except(x, 1, Bessel("BesselI0", x) - y / x); }
Expr I1eDx(const Expr& dy, const Expr& x, const Expr& y) {
  return dy * Except(x, 0.5, Bessel("BesselI0e", x) - y * (Sign(x) + Reciprocal(x)));
}
Expr J0Dx(const Expr& dy, const Expr& x) { return dy * -Bessel("BesselJ1", x); }
Expr J1Dx(const Expr& dy, const Expr& x, const Expr& y) { return dy * Except(x, 0.5, Bessel("BesselJ0", x) - y / x); }
Expr K0Dx(const Expr& dy, const Expr& x) { return dy * -Bessel("BesselK1", x); }
Expr K0eDx(const Expr& dy, const Expr& x, const Expr& y) { return dy * (y - Bessel("BesselK1e", x)); }
Expr K1Dx(const Expr& dy, const Expr& x, const Expr& y) { return dy * (-Bessel("BesselK0", x) - y / x); }
Expr K1eDx(const Expr& dy, const Expr& x, const Expr& y) {
  return dy * (y * (1.0 - Reciprocal(x)) - Bessel("BesselK0e", x));
}
Expr Y0Dx(const Expr& dy, const Expr& x) { return dy * -Bessel("BesselY1", x); }
Expr Y1Dx(const Expr& dy, const Expr& x, const Expr& y) { return dy * (Bessel("BesselY0", x) - y / x); }

// --- Of several operands ---------------------------------------------------------------------------------------------
// Igamma with 1, Igammac with -1.
template <int sign>
absl::Status IncompleteGamma(GradientContext& c) {
  const Expr a = c.Input(0), x = c.Input(1);
  const Expr dy = sign > 0 ? c.dy() : -c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, AddOp("IgammaGradA", {a, x}) * dy);
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, Exp((a - 1.0) * Log(x) - x - Lgamma(a)) * dy);
  return absl::OkStatus();
}

// Only for x; TensorFlow computes no others either.
absl::Status Betainc(GradientContext& c) {
  if (!c.Wants(2)) return absl::OkStatus();
  const Expr a = c.Input(0), b = c.Input(1), x = c.Input(2);
  const Expr log_beta = Lgamma(a) + Lgamma(b) - Lgamma(a + b);
  const Expr density = Exp(AddOp("Xlog1py", {b - 1.0, -x}) + Xlogy(a - 1.0, x) - log_beta);
  c.SetBroadcastInput(2, 0, density * c.dy());
  return absl::OkStatus();
}

absl::Status Zeta(GradientContext& c) {
  if (!c.Wants(1)) return absl::OkStatus();
  const Expr x = c.Input(0), q = c.Input(1);
  c.SetBroadcastInput(1, 0, -x * AddOp("Zeta", {x + 1.0, q}) * c.dy());
  return absl::OkStatus();
}

absl::Status PolygammaOf(GradientContext& c) {
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, Polygamma(c.Input(0) + 1.0, c.Input(1)) * c.dy());
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"BesselI0", &OfInput<I0Dx>},
    {"BesselI0e", &OfInputAndOutput<I0eDx>},
    {"BesselI1", &OfInputAndOutput<I1Dx>},
    {"BesselI1e", &OfInputAndOutput<I1eDx>},
    {"BesselJ0", &OfInput<J0Dx>},
    {"BesselJ1", &OfInputAndOutput<J1Dx>},
    {"BesselK0", &OfInput<K0Dx>},
    {"BesselK0e", &OfInputAndOutput<K0eDx>},
    {"BesselK1", &OfInputAndOutput<K1Dx>},
    {"BesselK1e", &OfInputAndOutput<K1eDx>},
    {"BesselY0", &OfInput<Y0Dx>},
    {"BesselY1", &OfInputAndOutput<Y1Dx>},
    {"Betainc", &Betainc},
    {"Dawsn", &OfInputAndOutput<DawsnDx>},
    {"Digamma", &OfInput<DigammaDx>},
    {"Erf", &OfInput<ErfDx>},
    {"Erfc", &OfInput<ErfcDx>},
    {"Erfinv", &OfOutput<ErfinvDx>},
    {"Expint", &OfInput<ExpintDx>},
    {"FresnelCos", &OfInput<FresnelCosDx>},
    {"FresnelSin", &OfInput<FresnelSinDx>},
    {"Igamma", &IncompleteGamma<1>},
    {"Igammac", &IncompleteGamma<-1>},
    {"Lgamma", &OfInput<LgammaDx>},
    {"Ndtri", &OfOutput<NdtriDx>},
    {"Polygamma", &PolygammaOf},
    {"Spence", &OfInput<SpenceDx>},
    {"Zeta", &Zeta},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> SpecialGradients() { return kRows; }

}  // namespace sluice

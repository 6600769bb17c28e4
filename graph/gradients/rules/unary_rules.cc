// Gradients of ops that map each element of one operand.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

Expr AbsDx(const Expr& dy, const Expr& x) { return dy * Sign(x); }
Expr NegDx(const Expr& dy, const Expr&) { return -dy; }
Expr ExpDx(const Expr& dy, const Expr& y) { return dy * y; }
Expr Expm1Dx(const Expr& dy, const Expr& x) { return dy * Exp(x); }
Expr LogDx(const Expr& dy, const Expr& x) { return dy * Reciprocal(x); }
Expr Log1pDx(const Expr& dy, const Expr& x) { return dy * Reciprocal(1.0 + x); }
Expr SquareDx(const Expr& dy, const Expr& x) { return dy * (2.0 * x); }
Expr SinDx(const Expr& dy, const Expr& x) { return dy * Cos(x); }
Expr CosDx(const Expr& dy, const Expr& x) { return -dy * Sin(x); }
Expr TanDx(const Expr& dy, const Expr& x) { return Square(Reciprocal(Cos(x))) * dy; }
Expr SinhDx(const Expr& dy, const Expr& x) { return dy * Cosh(x); }
Expr CoshDx(const Expr& dy, const Expr& x) { return dy * Sinh(x); }
Expr AsinDx(const Expr& dy, const Expr& x) { return dy * Reciprocal(Sqrt(1.0 - Square(x))); }
Expr AcosDx(const Expr& dy, const Expr& x) { return -dy * Reciprocal(Sqrt(1.0 - Square(x))); }
Expr AtanDx(const Expr& dy, const Expr& x) { return dy * Reciprocal(1.0 + Square(x)); }
Expr AsinhDx(const Expr& dy, const Expr& y) { return dy / Cosh(y); }
Expr AcoshDx(const Expr& dy, const Expr& y) { return dy / Sinh(y); }
Expr AtanhDx(const Expr& dy, const Expr& x) { return dy * Reciprocal(1.0 - Square(x)); }
Expr TanhDx(const Expr& dy, const Expr& y) { return AddOp("TanhGrad", {y, dy}); }
Expr SigmoidDx(const Expr& dy, const Expr& y) { return AddOp("SigmoidGrad", {y, dy}); }

// The kernels of these conjugate `y` themselves.
absl::Status Reciprocals(GradientContext& c) {
  c.SetInput(0, AddOp("ReciprocalGrad", {c.Output(), c.dy()}));
  return absl::OkStatus();
}

absl::Status Sqrt(GradientContext& c) {
  c.SetInput(0, AddOp("SqrtGrad", {c.Output(), c.dy()}));
  return absl::OkStatus();
}

absl::Status Rsqrt(GradientContext& c) {
  c.SetInput(0, AddOp("RsqrtGrad", {c.Output(), c.dy()}));
  return absl::OkStatus();
}

absl::Status Sign(GradientContext& c) {
  c.SetInput(0, ZerosLike(c.Input(0)));
  return absl::OkStatus();
}

absl::Status Conj(GradientContext& c) {
  c.SetInput(0, Conj(c.dy()));
  return absl::OkStatus();
}

absl::Status Real(GradientContext& c) {
  const Expr dy = c.dy();
  c.SetInput(0, c.Input(0).is_complex() ? Complex(dy, Zero(dy)) : dy);
  return absl::OkStatus();
}

absl::Status Imag(GradientContext& c) {
  const Expr dy = c.dy();
  c.SetInput(0, c.Input(0).is_complex() ? Complex(Zero(dy), dy) : ZerosLike(dy));
  return absl::OkStatus();
}

absl::Status Angle(GradientContext& c) {
  const Expr x = c.Input(0), dy = c.dy();
  c.SetInput(0, -Complex(dy, Zero(dy)) * Reciprocal(Complex(Imag(x), Real(x))));
  return absl::OkStatus();
}

absl::Status ComplexAbs(GradientContext& c) {
  const Expr y = c.Output(), dy = c.dy();
  c.SetInput(0, DivNoNan(Complex(dy, Zero(dy)) * c.Input(0), Complex(y, Zero(y))));
  return absl::OkStatus();
}

// --- Second derivatives: each row is that of an op (y, b) -> dx ------------------------------------------------------

// dx = -b y^2
absl::Status ReciprocalGrad(GradientContext& c) {
  const Expr y = Conj(c.Input(0)), g = c.dy();
  if (c.Wants(0)) c.SetInput(0, Conj(g) * -2.0 * c.Input(1) * y);
  if (c.Wants(1)) c.SetInput(1, AddOp("ReciprocalGrad", {y, g}));
  return absl::OkStatus();
}

// dx = b / (2 y)
absl::Status SqrtGrad(GradientContext& c) {
  const Expr g = c.dy() / c.Input(0);
  if (c.Wants(0)) c.SetInput(0, -Conj(g) * c.Output());
  if (c.Wants(1)) c.SetInput(1, 0.5 * g);
  return absl::OkStatus();
}

// dx = -b y^3 / 2
absl::Status RsqrtGrad(GradientContext& c) {
  const Expr y = Conj(c.Input(0)), g = c.dy();
  if (c.Wants(0)) c.SetInput(0, -1.5 * Conj(g) * c.Input(1) * Square(y));
  if (c.Wants(1)) c.SetInput(1, AddOp("RsqrtGrad", {y, g}));
  return absl::OkStatus();
}

// dx = b (1 - y) y
absl::Status SigmoidGrad(GradientContext& c) {
  const Expr y = Conj(c.Input(0)), g = c.dy();
  if (c.Wants(0)) {
    const Expr gb = g * Conj(c.Input(1));
    c.SetInput(0, gb - 2.0 * gb * y);
  }
  if (c.Wants(1)) c.SetInput(1, AddOp("SigmoidGrad", {y, g}));
  return absl::OkStatus();
}

// dx = b (1 - y^2)
absl::Status TanhGrad(GradientContext& c) {
  const Expr y = Conj(c.Input(0)), g = c.dy();
  if (c.Wants(0)) c.SetInput(0, g * -2.0 * Conj(c.Input(1)) * y);
  if (c.Wants(1)) c.SetInput(1, AddOp("TanhGrad", {y, g}));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"Abs", &OfInput<AbsDx>},
    {"Acos", &OfInput<AcosDx>},
    {"Acosh", &OfOutput<AcoshDx>},
    {"Angle", &Angle},
    {"Asin", &OfInput<AsinDx>},
    {"Asinh", &OfOutput<AsinhDx>},
    {"Atan", &OfInput<AtanDx>},
    {"Atanh", &OfInput<AtanhDx>},
    {"ComplexAbs", &ComplexAbs},
    {"Conj", &Conj},
    {"Cos", &OfInput<CosDx>},
    {"Cosh", &OfInput<CoshDx>},
    {"Exp", &OfOutput<ExpDx>},
    {"Expm1", &OfInput<Expm1Dx>},
    {"Imag", &Imag},
    {"Inv", &Reciprocals},
    {"InvGrad", &ReciprocalGrad},
    {"Log", &OfInput<LogDx>},
    {"Log1p", &OfInput<Log1pDx>},
    {"Neg", &OfInput<NegDx>},
    {"Real", &Real},
    {"Reciprocal", &Reciprocals},
    {"ReciprocalGrad", &ReciprocalGrad},
    {"Rsqrt", &Rsqrt},
    {"RsqrtGrad", &RsqrtGrad},
    {"Sigmoid", &OfOutput<SigmoidDx>},
    {"SigmoidGrad", &SigmoidGrad},
    {"Sign", &Sign},
    {"Sin", &OfInput<SinDx>},
    {"Sinh", &OfInput<SinhDx>},
    {"Sqrt", &Sqrt},
    {"SqrtGrad", &SqrtGrad},
    {"Square", &OfInput<SquareDx>},
    {"Tan", &OfInput<TanDx>},
    {"Tanh", &OfOutput<TanhDx>},
    {"TanhGrad", &TanhGrad},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> UnaryGradients() { return kRows; }

}  // namespace sluice

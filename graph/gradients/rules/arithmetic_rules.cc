// Gradients of ops on pairs (and lists) of numbers, element by element.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

absl::Status Add(GradientContext& c) {
  const Expr dy = c.dy();
  for (int i = 0; i < 2; ++i) {
    if (c.Wants(i)) c.SetBroadcastInput(i, 1 - i, dy);
  }
  return absl::OkStatus();
}

absl::Status Sub(GradientContext& c) {
  const Expr dy = c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, dy);
  if (c.Wants(1)) c.SetInput(1, -c.SumToInput(1, 0, dy));
  return absl::OkStatus();
}

absl::Status Mul(GradientContext& c) {
  const Expr dy = c.dy();
  for (int i = 0; i < 2; ++i) {
    if (c.Wants(i)) c.SetBroadcastInput(i, 1 - i, dy * Conj(c.Input(1 - i)));
  }
  return absl::OkStatus();
}

absl::Status MulNoNan(GradientContext& c) {
  const Expr dy = c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, MulNoNan(dy, Conj(c.Input(1))));
  // Operand order matters: MulNoNan returns 0 where its second operand (dy) is 0.
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, MulNoNan(Conj(c.Input(0)), dy));
  return absl::OkStatus();
}

absl::Status Div(GradientContext& c) {
  const Expr dy = c.dy(), y = Conj(c.Input(1));
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, dy / y);
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, dy * (-Conj(c.Input(0)) / y / y));
  return absl::OkStatus();
}

absl::Status DivNoNan(GradientContext& c) {
  const Expr dy = c.dy(), y = Conj(c.Input(1));
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, DivNoNan(dy, y));
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, dy * DivNoNan(DivNoNan(-Conj(c.Input(0)), y), y));
  return absl::OkStatus();
}

// z = x - y floor(x / y)
absl::Status FloorMod(GradientContext& c) {
  const Expr dy = c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, dy);
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, dy * -FloorDiv(c.Input(0), c.Input(1)));
  return absl::OkStatus();
}

// z = x - y trunc(x / y), where the quotient is a whole number but for rounding.
absl::Status TruncateMod(GradientContext& c) {
  const Expr dy = c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, dy);
  if (c.Wants(1)) {
    c.SetBroadcastInput(1, 0, dy * AddOp("Rint", {(c.Output() - c.Input(0)) / c.Input(1)}));
  }
  return absl::OkStatus();
}

absl::Status Pow(GradientContext& c) {
  const Expr dy = c.dy(), x = Conj(c.Input(0));
  if (c.Wants(0)) {
    const Expr y = Conj(c.Input(1));
    c.SetBroadcastInput(0, 1, dy * y * Pow(x, y - 1.0));
  }
  if (c.Wants(1)) {
    // Where the logarithm is undefined the gradient is zero; select before computing it, as a NaN would stay.
    const Expr has_log = x.is_complex() ? NotEqual(x, Zero(x)) : Greater(x, Zero(x));
    const Expr log = Where(has_log, Log(Select(has_log, x, Number(x, 1))));
    c.SetBroadcastInput(1, 0, dy * Conj(c.Output()) * log);
  }
  return absl::OkStatus();
}

// For Maximum and Minimum: if both are equal, x gets the whole gradient.
absl::Status ByMask(GradientContext& c, const Expr& takes_first) {
  const Expr dy = c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, Where(takes_first, dy));
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, Select(takes_first, Zero(dy), dy));
  return absl::OkStatus();
}

absl::Status Maximum(GradientContext& c) { return ByMask(c, GreaterEqual(c.Input(0), c.Input(1))); }
absl::Status Minimum(GradientContext& c) { return ByMask(c, LessEqual(c.Input(0), c.Input(1))); }

// |x - y|^2 is real even for complex numbers, so the imaginary part of dy is ignored.
absl::Status SquaredDifference(GradientContext& c) {
  Expr dy = c.dy();
  if (dy.is_complex()) dy = Complex(Real(dy), Zero(Real(dy)));
  const Expr dx = 2.0 * dy * (c.Input(0) - c.Input(1));
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, dx);
  if (c.Wants(1)) c.SetInput(1, -c.SumToInput(1, 0, dx));
  return absl::OkStatus();
}

// atan(y / x)
absl::Status Atan2(GradientContext& c) {
  const Expr y = c.Input(0), x = c.Input(1);
  const Expr scaled = c.dy() / (Square(y) + Square(x));
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, x * scaled);
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, -y * scaled);
  return absl::OkStatus();
}

absl::Status NextAfter(GradientContext& c) {
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, c.dy());
  if (c.Wants(1)) c.SetInput(1, ZerosLike(c.Input(1)));
  return absl::OkStatus();
}

absl::Status Complex(GradientContext& c) {
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, Real(c.dy()));
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, Imag(c.dy()));
  return absl::OkStatus();
}

// The condition of Select may be a vector, for whole rows, which SelectV2 does not know.
absl::Status SelectOf(GradientContext& c) {
  const Expr condition = c.Input(0), dy = c.dy(), zeros = ZerosLike(dy);
  if (c.Wants(1)) c.SetInput(1, AddOp("Select", {condition, dy, zeros}));
  if (c.Wants(2)) c.SetInput(2, AddOp("Select", {condition, zeros, dy}));
  return absl::OkStatus();
}

absl::Status SelectV2(GradientContext& c) {
  const Expr condition = c.Input(0), dy = c.dy();
  if (c.Wants(1)) c.SetInput(1, c.SumToShapeOf(c.Input(1), c.Output(), Where(condition, dy)));
  if (c.Wants(2)) c.SetInput(2, c.SumToShapeOf(c.Input(2), c.Output(), Select(condition, Zero(dy), dy)));
  return absl::OkStatus();
}

absl::Status AddN(GradientContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.Wants(i)) c.SetInput(i, c.DyAsIs());
  }
  return absl::OkStatus();
}

absl::Status Cast(GradientContext& c) {
  // IsDifferentiable also holds for handles and lists, which are never cast.
  if (IsDifferentiable(c.input_type(0)) && IsDifferentiable(c.output_type(0))) {
    c.SetInput(0, Cast(c.dy(), c.input_type(0)));
  }
  return absl::OkStatus();
}

absl::Status Cross(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, AddOp("Cross", {c.Input(1), c.dy()}));
  if (c.Wants(1)) c.SetInput(1, AddOp("Cross", {c.dy(), c.Input(0)}));
  return absl::OkStatus();
}

absl::Status ClipByValue(GradientContext& c) {
  const Expr x = c.Input(0), dy = c.dy();
  const Expr is_low = Less(x, c.Input(1)), is_high = Greater(x, c.Input(2));
  if (c.Wants(0)) c.SetInput(0, Select(Or(is_low, is_high), Zero(dy), dy));
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, Where(is_low, dy));
  if (c.Wants(2)) c.SetBroadcastInput(2, 0, Where(is_high, dy));
  return absl::OkStatus();
}

// 1 where x is not zero: the ops below are zero where x is, whatever y is.
Expr NotZero(const Expr& x) { return Indicator(NotEqual(x, Zero(x)), x.type()); }

// x log(y)
absl::Status Xlogy(GradientContext& c) {
  const Expr x = Conj(c.Input(0)), y = Conj(c.Input(1)), dy = c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, Xlogy(NotZero(x), y) * dy);
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, Xdivy(x, y) * dy);
  return absl::OkStatus();
}

// x log(1 + y)
absl::Status Xlog1py(GradientContext& c) {
  const Expr x = Conj(c.Input(0)), y = Conj(c.Input(1)), dy = c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, AddOp("Xlog1py", {NotZero(x), y}) * dy);
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, Xdivy(x, y + 1.0) * dy);
  return absl::OkStatus();
}

// x / y
absl::Status Xdivy(GradientContext& c) {
  const Expr x = Conj(c.Input(0)), y = Conj(c.Input(1)), dy = c.dy();
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, Xdivy(NotZero(x), y) * dy);
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, Xdivy(-x, Square(y)) * dy);
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"AccumulateNV2", &AddN},
    {"Add", &Add},
    {"AddN", &AddN},
    {"AddV2", &Add},
    {"Atan2", &Atan2},
    {"Cast", &Cast},
    {"ClipByValue", &ClipByValue},
    {"Complex", &Complex},
    {"Cross", &Cross},
    {"Div", &Div},
    {"DivNoNan", &DivNoNan},
    {"FloorMod", &FloorMod},
    {"Maximum", &Maximum},
    {"Minimum", &Minimum},
    {"Mod", &TruncateMod},
    {"Mul", &Mul},
    {"MulNoNan", &MulNoNan},
    {"NextAfter", &NextAfter},
    {"Pow", &Pow},
    {"RealDiv", &Div},
    {"Select", &SelectOf},
    {"SelectV2", &SelectV2},
    {"SquaredDifference", &SquaredDifference},
    {"Sub", &Sub},
    {"TruncateMod", &TruncateMod},
    {"Xdivy", &Xdivy},
    {"Xlog1py", &Xlog1py},
    {"Xlogy", &Xlogy},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> ArithmeticGradients() { return kRows; }

}  // namespace sluice

// Gradients of the nonlinearities of networks.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

Expr ReluDx(const Expr& dy, const Expr& y) { return AddOp("ReluGrad", {dy, y}); }
Expr Relu6Dx(const Expr& dy, const Expr& y) { return AddOp("Relu6Grad", {dy, y}); }
Expr EluDx(const Expr& dy, const Expr& y) { return AddOp("EluGrad", {dy, y}); }
Expr SeluDx(const Expr& dy, const Expr& y) { return AddOp("SeluGrad", {dy, y}); }
Expr SoftplusDx(const Expr& dy, const Expr& x) { return dy * Sigmoid(x); }
Expr SoftsignDx(const Expr& dy, const Expr& x) { return AddOp("SoftsignGrad", {dy, x}); }

absl::Status LeakyRelu(GradientContext& c) {
  c.SetInput(0, AddOp("LeakyReluGrad", {c.dy(), c.Input(0)}, c.CopyAttrs({"alpha"})));
  return absl::OkStatus();
}

absl::Status Softmax(GradientContext& c) {
  const Expr y = c.Output(), dy = c.dy();
  c.SetInput(0, (dy - Sum(dy * y, {-1}, true)) * y);
  return absl::OkStatus();
}

absl::Status LogSoftmax(GradientContext& c) {
  const Expr dy = c.dy();
  c.SetInput(0, dy - Sum(dy, {-1}, true) * Exp(c.Output()));
  return absl::OkStatus();
}

// --- Second derivatives: rows of ops (dy, x) -> dx -------------------------------------------------------------------

// Piecewise linear in dy: apply the same op; the derivative with respect to x is zero almost everywhere.
absl::Status PiecewiseLinear(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, AddOp(c.op(), {c.dy(), c.Input(1)}, c.CopyAttrs({"alpha"})));
  if (c.Wants(1)) c.SetInput(1, ZerosLike(c.Input(1)));
  return absl::OkStatus();
}

// Elu and Selu: below zero the derivative is y plus a constant, y being the second input.
absl::Status Exponential(GradientContext& c) {
  const Expr y = c.Input(1), g = c.dy();
  if (c.Wants(0)) c.SetInput(0, AddOp(c.op(), {g, y}));
  if (c.Wants(1)) c.SetInput(1, Where(Less(y, Zero(y)), g * c.Input(0)));
  return absl::OkStatus();
}

// dx = dy / (1 + exp(-x))
absl::Status SoftplusGrad(GradientContext& c) {
  const Expr x = c.Input(1), g = c.dy();
  if (c.Wants(0)) c.SetInput(0, AddOp("SoftplusGrad", {g, x}));
  if (c.Wants(1)) c.SetInput(1, g * c.Input(0) / (Exp(-x) + 2.0 + Exp(x)));
  return absl::OkStatus();
}

// dx = dy / (1 + |x|)^2
absl::Status SoftsignGrad(GradientContext& c) {
  const Expr x = c.Input(1), g = c.dy();
  if (c.Wants(0)) c.SetInput(0, AddOp("SoftsignGrad", {g, x}));
  if (c.Wants(1)) c.SetInput(1, -2.0 * g * c.Output() * Sign(x) / (1.0 + Abs(x)));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"Elu", &OfOutput<EluDx>},           {"EluGrad", &Exponential},       {"LeakyRelu", &LeakyRelu},
    {"LeakyReluGrad", &PiecewiseLinear}, {"LogSoftmax", &LogSoftmax},     {"Relu", &OfOutput<ReluDx>},
    {"Relu6", &OfOutput<Relu6Dx>},       {"Relu6Grad", &PiecewiseLinear}, {"ReluGrad", &PiecewiseLinear},
    {"Selu", &OfOutput<SeluDx>},         {"SeluGrad", &Exponential},      {"Softmax", &Softmax},
    {"Softplus", &OfInput<SoftplusDx>},  {"SoftplusGrad", &SoftplusGrad}, {"Softsign", &OfInput<SoftsignDx>},
    {"SoftsignGrad", &SoftsignGrad},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> ActivationGradients() { return kRows; }

}  // namespace sluice

#ifndef SLUICE_GRAPH_GRADIENTS_RULES_SHARED_RULES_H_
#define SLUICE_GRAPH_GRADIENTS_RULES_SHARED_RULES_H_

// Gradients that rows of several families share.

#include "absl/status/status.h"
#include "graph/gradients/gradient_context.h"

namespace sluice {

// --- Formulas as rows: {"Sin", &OfInput<SinDx>} --------------------------------------------------------------------
// Operands come conjugated, as the gradient of a holomorphic function has them; real ones are as they are.
using GradientFormula = Expr (*)(const Expr& dy, const Expr& operand);

// Of an op of one operand, from the operand.
template <GradientFormula formula>
absl::Status OfInput(GradientContext& c) {
  c.SetInput(0, formula(c.dy(), Conj(c.Input(0))));
  return absl::OkStatus();
}

// Of an op of one operand, from the result.
template <GradientFormula formula>
absl::Status OfOutput(GradientContext& c) {
  c.SetInput(0, formula(c.dy(), Conj(c.Output())));
  return absl::OkStatus();
}

// Of an op of one operand, from both.
template <Expr (*formula)(const Expr& dy, const Expr& x, const Expr& y)>
absl::Status OfInputAndOutput(GradientContext& c) {
  c.SetInput(0, formula(c.dy(), Conj(c.Input(0)), Conj(c.Output())));
  return absl::OkStatus();
}

// --- Gradients -----------------------------------------------------------------------------------------------------
// The gradient of output 0, in whatever form it came, is that of input 0.
absl::Status PassOn(GradientContext& c);
// The same for each input and the output of its index; zeros for a missing gradient.
absl::Status PassAllOn(GradientContext& c);
// The gradient of output 0 in the shape of input 0.
absl::Status ReshapeToInput(GradientContext& c);

// --- Pieces --------------------------------------------------------------------------------------------------------
// A zero of the type of `like`, which broadcasts.
Expr Zero(const Expr& like);
// `value` where `condition` holds, else zero.
Expr Where(const Expr& condition, const Expr& value);
// 1 where `condition` holds, else 0.
Expr Indicator(const Expr& condition, DType type);
// A vector of one element: x.
Expr AsVector(const Expr& x);
// [0, 1, ..., count - 1].
Expr Iota(const Expr& count);
// The last element of a vector: that of the dimension counted from the end.
Expr LastDim(const Expr& shape);

// `shape` (a vector) with 1 in the places of `axes` (a scalar or vector, from the end where negative).
Expr KeptShape(const Expr& shape, const Expr& axes);
// `value`, a reduction of input 0 over the axes of input 1 (or its gradient), with the axes kept as 1 as far as it
// takes to broadcast with the input.
Expr WithKeptAxes(GradientContext& c, const Expr& value);
// `x` with as many dimensions of size 1 behind its own as it takes to have the rank of `like`.
Expr AlignLeft(const Expr& x, const Expr& like);
// Rows of `params` by `ids`; zeros for negative ids.
Expr GatherDroppingNegatives(const Expr& params, const Expr& ids);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_RULES_SHARED_RULES_H_

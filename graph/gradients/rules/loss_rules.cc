// Gradients of losses. Their kernels give the gradient as a second output; it has one of its own.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

// Of the logits of a softmax cross entropy (loss, softmax - labels).
Expr LogitsGradient(GradientContext& c) {
  const Expr of_loss = ExpandDims(c.dy(0), -1) * c.Output(1);
  if (!c.HasDy(1)) return of_loss;
  const Expr softmax = AddOp("Softmax", {c.Input(0)}), g = c.dy(1);
  const Expr of_softmax = (g - Sum(g * softmax, {-1}, true)) * softmax;
  return c.HasDy(0) ? of_loss + of_softmax : of_softmax;
}

absl::Status SoftmaxCrossEntropy(GradientContext& c) {
  if (c.Wants(0)) c.SetBroadcastInput(0, 1, LogitsGradient(c));
  // The gradient of the second output does not flow to the labels, as in TensorFlow.
  if (c.Wants(1)) c.SetBroadcastInput(1, 0, ExpandDims(c.dy(0), -1) * -AddOp("LogSoftmax", {c.Input(0)}));
  return absl::OkStatus();
}

absl::Status SparseSoftmaxCrossEntropy(GradientContext& c) {
  c.SetInput(0, LogitsGradient(c));
  return absl::OkStatus();
}

absl::Status CtcLoss(GradientContext& c) {
  const Expr gradient =
      AddOp("PreventGradient", {c.Output(1)},
            {{"message", AttrValue("the kernel of CTCLoss gives its gradient as a value, which has none itself")}});
  c.SetInput(0, ExpandDims(c.dy(0), -1) * gradient);
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"CTCLoss", &CtcLoss},
    {"CTCLossV2", &CtcLoss},
    {"SoftmaxCrossEntropyWithLogits", &SoftmaxCrossEntropy},
    {"SparseSoftmaxCrossEntropyWithLogits", &SparseSoftmaxCrossEntropy},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> LossGradients() { return kRows; }

}  // namespace sluice

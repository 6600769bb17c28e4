// Gradients of the cells and layers of recurrent networks that are one op.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

// The layer: (seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b) -> (i, cs, f, o, ci, co, h); cs and h have
// gradients.
absl::Status BlockLstm(GradientContext& c) {
  Exprs inputs = c.Inputs(0, c.num_inputs());
  for (int i = 0; i < c.num_outputs(); ++i) inputs.push_back(c.Output(i));
  inputs.push_back(c.dy(1));
  inputs.push_back(c.dy(6));
  // The two versions order the gates differently, so each has its own.
  const Expr grads =
      AddOp(c.op() == "BlockLSTMV2" ? "BlockLSTMGradV2" : "BlockLSTMGrad", inputs, c.CopyAttrs({"use_peephole"}));
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.Wants(i)) c.SetInput(i, grads.out(i - 1));
  }
  return absl::OkStatus();
}

// Splits the gradient of the concatenation of x and h, which the weights multiply.
void SetBeside(GradientContext& c, int x, int h, const Expr& gradient) {
  const Expr num_x = Element(ShapeOf(c.Input(x)), 1), num_h = Element(ShapeOf(c.Input(h)), 1);
  const Expr pieces =
      AddOp("SplitV", {gradient, Pack({num_x, num_h}), c.Int32(1)}, {{"num_split", AttrValue(int64_t{2})}});
  if (c.Wants(x)) c.SetInput(x, pieces);
  if (c.Wants(h)) c.SetInput(h, pieces.out(1));
}

// The cell takes (x, cs_prev, h_prev, w, wci, wcf, wco, b) and gives (i, cs, f, o, ci, co, h).
absl::Status LstmCell(GradientContext& c) {
  Exprs inputs = c.Inputs(0, c.num_inputs());
  for (int i = 0; i < 6; ++i) inputs.push_back(c.Output(i));
  inputs.push_back(c.dy(1));
  inputs.push_back(c.dy(6));
  const Expr grads = AddOp("LSTMBlockCellGrad", inputs, c.CopyAttrs({"use_peephole"}));
  const Expr gates = grads.out(1);
  if (c.Wants(1)) c.SetInput(1, grads);
  if (c.Wants(0) || c.Wants(2)) SetBeside(c, 0, 2, MatMul(gates, c.Input(3), false, true));
  if (c.Wants(3)) c.SetInput(3, MatMul(Concat({c.Input(0), c.Input(2)}, 1), gates, true, false));
  for (int i = 4; i < 7; ++i) {
    if (c.Wants(i)) c.SetInput(i, grads.out(i - 2));
  }
  if (c.Wants(7)) c.SetInput(7, Sum(gates, {0}));
  return absl::OkStatus();
}

// The cell: (x, h_prev, w_ru, w_c, b_ru, b_c) -> (r, u, c, h); h has a gradient.
absl::Status GruCell(GradientContext& c) {
  Exprs inputs = c.Inputs(0, c.num_inputs());
  for (int i = 0; i < 3; ++i) inputs.push_back(c.Output(i));
  inputs.push_back(c.dy(3));
  const Expr grads = AddOp("GRUBlockCellGrad", inputs);
  const Expr candidate = grads.out(2), gates = grads.out(3);
  if (c.Wants(0)) c.SetInput(0, grads);
  if (c.Wants(1)) c.SetInput(1, grads.out(1));
  const Expr x = c.Input(0), h = c.Input(1);
  if (c.Wants(2)) c.SetInput(2, MatMul(Concat({x, h}, 1), gates, true, false));
  if (c.Wants(3)) c.SetInput(3, MatMul(Concat({x, h * c.Output(0)}, 1), candidate, true, false));
  if (c.Wants(4)) c.SetInput(4, Sum(gates, {0}));
  if (c.Wants(5)) c.SetInput(5, Sum(candidate, {0}));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"BlockLSTM", &BlockLstm},
    {"BlockLSTMV2", &BlockLstm},
    {"GRUBlockCell", &GruCell},
    {"LSTMBlockCell", &LstmCell},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> RecurrentGradients() { return kRows; }

}  // namespace sluice

// Shapes of the fused cells of recurrent networks.

#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

// All gates and states are [batch, cells]; the state before is in input 1.
absl::Status LstmCell(InferenceContext& c) {
  c.SetAll(ShapeOf({EitherDim(c.dim(0, 0), c.dim(1, 0)), c.dim(1, 1)}));
  return absl::OkStatus();
}

// Gradients of the state, of all four gates side by side, and of the three peepholes.
absl::Status LstmCellGrad(InferenceContext& c) {
  const int64_t cells = c.dim(1, 1), batch = EitherDim(c.dim(0, 0), c.dim(1, 0));
  c.Set(0, Dims{batch, cells});
  c.Set(1, Dims{batch, MulDims(cells, 4)});
  for (int i = 2; i < 5; ++i) c.SetVector(i, cells);
  return absl::OkStatus();
}

// The cell over a sequence: [time, batch, cells]. The bias, the last input, has four numbers per cell.
absl::Status BlockLstm(InferenceContext& c) {
  c.SetAll(ShapeOf({c.dim(1, 0), c.dim(1, 1), DivDims(c.dim(c.num_inputs() - 1, 0), 4)}));
  return absl::OkStatus();
}

// Each operand behind the length has a gradient of its own shape.
absl::Status BlockLstmGrad(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.Set(i, c.input(i + 1));
  return absl::OkStatus();
}

absl::Status GruCellGrad(InferenceContext& c) {
  const int64_t batch = EitherDim(c.dim(0, 0), c.dim(1, 0)), cells = c.dim(1, 1);
  c.Set(0, Dims{batch, c.dim(0, 1)});
  c.Set(1, Dims{batch, cells});
  c.Set(2, Dims{batch, cells});
  c.Set(3, Dims{batch, MulDims(cells, 2)});
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"BlockLSTM", &BlockLstm},    {"BlockLSTMGrad", &BlockLstmGrad},    {"BlockLSTMGradV2", &BlockLstmGrad},
    {"BlockLSTMV2", &BlockLstm},  {"GRUBlockCell", &LstmCell},          {"GRUBlockCellGrad", &GruCellGrad},
    {"LSTMBlockCell", &LstmCell}, {"LSTMBlockCellGrad", &LstmCellGrad},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> RecurrentRows() { return kRows; }

}  // namespace sluice

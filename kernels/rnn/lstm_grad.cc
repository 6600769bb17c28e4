// The gradients of LSTMBlockCell, BlockLSTM and BlockLSTMV2.

#include <algorithm>
#include <memory>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/rnn/cell_product.h"
#include "kernels/rnn/cell_values.h"
#include "kernels/rnn/families.h"
#include "kernels/rnn/lstm_math.h"
#include "kernels/rnn/lstm_sizes.h"

namespace sluice {
namespace {

// Nanoseconds for a cell of a row.
constexpr double kCellNs = 6;
// Floats of the gates' gradients of many steps.
constexpr int64_t kGateFloats = int64_t{1} << 20;

// --- A step --------------------------------------------------------------------------------------------------------

// Inputs after those of the cell.
enum CellGradInput { kI = 8, kCs, kF, kO, kCi, kCo, kCsGrad, kHGrad };
constexpr const char* kCellGradNames[] = {"i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"};

// The gradients of the gates and of the state before a step.
class LstmCellGradKernel final : public Kernel {
 public:
  explicit LstmCellGradKernel(const LstmForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const LstmSizes sizes, ResolveLstmCell(context, form_.has_peephole));
    const int64_t cells = sizes.cells;
    for (int i = kI; i <= kHGrad; ++i) {
      SLUICE_RETURN_IF_ERROR(CheckCellShape(context, i, kCellGradNames[i - kI], {sizes.batch, cells}));
    }
    SLUICE_ASSIGN_OR_RETURN(const FloatInputs in, FloatInputs::Make(context, kX, kHGrad));
    SLUICE_ASSIGN_OR_RETURN(const Shape state_shape, Shape::Make({sizes.batch, cells}));
    SLUICE_ASSIGN_OR_RETURN(const Shape gates_shape, Shape::Make({sizes.batch, sizes.gates()}));
    FloatOutputs outputs(context);
    SLUICE_ASSIGN_OR_RETURN(float* const cs_prev_grad, outputs.Add(state_shape));
    SLUICE_ASSIGN_OR_RETURN(float* const gate_grads, outputs.Add(gates_shape));
    float* peepholes[3];
    for (int i = 0; i < 3; ++i) {
      const Shape shape = context.input(kWci + i).shape();
      SLUICE_ASSIGN_OR_RETURN(peepholes[i], outputs.Add(shape));
      std::fill_n(peepholes[i], shape.num_elements(), 0.0f);
    }
    const LstmVectors vectors{in[kWci], in[kWcf], in[kWco], in[kB]};
    context.ParallelFor(sizes.batch, kCellNs * static_cast<double>(cells), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t at = r * cells;
        const LstmBackInputs row{in[kCsPrev] + at, in[kI] + at,  in[kCs] + at, in[kF] + at,
                                 in[kO] + at,      in[kCi] + at, in[kCo] + at, in[kCsGrad] + at,
                                 in[kHGrad] + at,  nullptr,      nullptr};
        LstmBackwardRow(form_, vectors, cells, row, gate_grads + 4 * at, cs_prev_grad + at);
      }
    });
    for (int64_t r = 0; form_.has_peephole && r < sizes.batch; ++r) {
      const int64_t at = r * cells;
      AddPeepholeGrads(form_, cells, gate_grads + 4 * at, in[kCsPrev] + at, in[kCs] + at, peepholes[0], peepholes[1],
                       peepholes[2]);
    }
    outputs.Finish();
    return absl::OkStatus();
  }

 private:
  const LstmForm form_;
};

// --- A sequence ----------------------------------------------------------------------------------------------------

// Inputs of the gradient of a sequence: the length, those of a cell, and what all steps gave.
constexpr int kFirst = 1;
enum BlockGradInput { kBlockI = 9, kBlockCs, kBlockF, kBlockO, kBlockCi, kBlockCo, kBlockH, kBlockCsGrad, kBlockHGrad };
constexpr const char* kBlockGradNames[] = {"i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"};

// One call: goes back through the steps, a chunk of them at a time, whose gates' gradients then make the gradients of
// the inputs and of the weights.
class BackCall {
 public:
  BackCall(KernelContext& context, const LstmForm& form, const LstmSizes& sizes, const FloatInputs& inputs)
      : context_(context),
        form_(form),
        sizes_(sizes),
        in_(inputs),
        vectors_{in_[kFirst + kWci], in_[kFirst + kWcf], in_[kFirst + kWco], in_[kFirst + kB]},
        h_weights_(in_[kFirst + kW] + sizes.inputs * sizes.gates()) {}

  absl::Status Run(FloatOutputs* outputs) {
    SLUICE_RETURN_IF_ERROR(AddOutputs(outputs));
    if (sizes_.steps == 0 || sizes_.state() == 0) return absl::OkStatus();
    const int64_t step_gates = sizes_.batch * sizes_.gates();
    const int64_t chunk = std::min(sizes_.steps, std::max<int64_t>(1, kGateFloats / step_gates));
    SLUICE_ASSIGN_OR_RETURN(Tensor gates, context_.AllocateTemp(DType::kFloat, Shape::Of({chunk, step_gates})));
    SLUICE_ASSIGN_OR_RETURN(Tensor sums, context_.AllocateTemp(DType::kFloat, context_.input(kFirst + kW).shape()));
    const Tensor h_matrix = in_.tensor(kFirst + kW).SliceRows(sizes_.inputs, sizes_.inputs + sizes_.cells);
    SLUICE_ASSIGN_OR_RETURN(
        packed_, PackForSteps(context_, h_matrix, {sizes_.gates(), sizes_.cells, true}, sizes_.batch, sizes_.steps));
    float* const gate_grads = gates.flat<float>().data();
    for (int64_t end = sizes_.steps; end > 0;) {
      const int64_t begin = std::max<int64_t>(0, end - chunk);
      for (int64_t step = end; step-- > begin;) {
        SLUICE_RETURN_IF_ERROR(StepBack(step, gate_grads + (step - begin) * step_gates));
      }
      SLUICE_RETURN_IF_ERROR(FinishChunk(begin, end, gate_grads, sums.flat<float>().data()));
      end = begin;
    }
    return absl::OkStatus();
  }

 private:
  // All outputs, zero.
  absl::Status AddOutputs(FloatOutputs* outputs) {
    float** const places[] = {&x_grad_, &cs_grad_, &h_grad_, &w_grad_, &wci_grad_, &wcf_grad_, &wco_grad_, &b_grad_};
    for (int i = 0; i < 8; ++i) {
      const Shape shape = context_.input(kFirst + i).shape();
      SLUICE_ASSIGN_OR_RETURN(*places[i], outputs->Add(shape));
      std::fill_n(*places[i], shape.num_elements(), 0.0f);
    }
    return absl::OkStatus();
  }

  const float* StateBefore(int64_t step, int all, int first) const {
    return step > 0 ? in_[all] + (step - 1) * sizes_.state() : in_[kFirst + first];
  }

  // The gradients of the step's gates, and of the state before it.
  absl::Status StepBack(int64_t step, float* gate_grads) {
    const int64_t cells = sizes_.cells, at_step = step * sizes_.state();
    const float* const cs_prev = StateBefore(step, kBlockCs, kCsPrev);
    context_.ParallelFor(sizes_.batch, kCellNs * static_cast<double>(cells), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t row = r * cells, at = at_step + row;
        const LstmBackInputs from{cs_prev + row,         in_[kBlockI] + at,  in_[kBlockCs] + at, in_[kBlockF] + at,
                                  in_[kBlockO] + at,     in_[kBlockCi] + at, in_[kBlockCo] + at, in_[kBlockCsGrad] + at,
                                  in_[kBlockHGrad] + at, cs_grad_ + row,     h_grad_ + row};
        LstmBackwardRow(form_, vectors_, cells, from, gate_grads + 4 * row, cs_grad_ + row);
      }
    });
    return Multiply(context_, {{sizes_.batch, cells, sizes_.gates()}, gate_grads, h_weights_, false, true, &packed_},
                    h_grad_);
  }

  // Adds A^T * B to `to`; `sums` is memory for the product.
  absl::Status AddProduct(int64_t m, int64_t k, const float* a, const float* b, float* sums, float* to) {
    SLUICE_RETURN_IF_ERROR(Multiply(context_, {{m, sizes_.gates(), k}, a, b, true, false}, sums));
    AddFloats(sums, m * sizes_.gates(), to);
    return absl::OkStatus();
  }

  // What the gates' gradients of steps [begin, end) give.
  absl::Status FinishChunk(int64_t begin, int64_t end, const float* gate_grads, float* sums) {
    const int64_t rows = (end - begin) * sizes_.batch, gates = sizes_.gates();
    const int64_t x_at = begin * sizes_.batch * sizes_.inputs;
    SLUICE_RETURN_IF_ERROR(
        Multiply(context_, {{rows, sizes_.inputs, gates}, gate_grads, in_[kFirst + kW], false, true}, x_grad_ + x_at));
    SLUICE_RETURN_IF_ERROR(AddProduct(sizes_.inputs, rows, in_[kFirst + kX] + x_at, gate_grads, sums, w_grad_));
    // The states before the steps lie one after the other, but for the first.
    float* const h_w_grad = w_grad_ + sizes_.inputs * gates;
    int64_t first = begin;
    if (begin == 0) {
      SLUICE_RETURN_IF_ERROR(AddProduct(sizes_.cells, sizes_.batch, in_[kFirst + kHPrev], gate_grads, sums, h_w_grad));
      first = 1;
    }
    if (end > first) {
      SLUICE_RETURN_IF_ERROR(AddProduct(sizes_.cells, (end - first) * sizes_.batch, StateBefore(first, kBlockH, kHPrev),
                                        gate_grads + (first - begin) * sizes_.batch * gates, sums, h_w_grad));
    }
    for (int64_t r = 0; r < rows; ++r) AddFloats(gate_grads + r * gates, gates, b_grad_);
    for (int64_t step = begin; form_.has_peephole && step < end; ++step) {
      AddPeepholes(step, gate_grads + (step - begin) * sizes_.batch * gates);
    }
    return absl::OkStatus();
  }

  void AddPeepholes(int64_t step, const float* gate_grads) {
    const float* const cs_prev = StateBefore(step, kBlockCs, kCsPrev);
    const float* const cs = in_[kBlockCs] + step * sizes_.state();
    for (int64_t r = 0; r < sizes_.batch; ++r) {
      const int64_t row = r * sizes_.cells;
      AddPeepholeGrads(form_, sizes_.cells, gate_grads + 4 * row, cs_prev + row, cs + row, wci_grad_, wcf_grad_,
                       wco_grad_);
    }
  }

  KernelContext& context_;
  const LstmForm& form_;
  const LstmSizes& sizes_;
  const FloatInputs& in_;
  const LstmVectors vectors_;
  const float* const h_weights_;
  PackedMatrix packed_;  // h_weights_, transposed.
  // Outputs; the gradients of the state are those of the step at hand until the first one is done.
  float *x_grad_, *cs_grad_, *h_grad_, *w_grad_, *wci_grad_, *wcf_grad_, *wco_grad_, *b_grad_;
};

// The gradients of all inputs of a sequence.
class BlockLstmGradKernel final : public Kernel {
 public:
  explicit BlockLstmGradKernel(const LstmForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const LstmSizes sizes, ResolveBlockLstm(context));
    for (int i = kBlockI; i <= kBlockHGrad; ++i) {
      SLUICE_RETURN_IF_ERROR(
          CheckCellShape(context, i, kBlockGradNames[i - kBlockI], {sizes.time, sizes.batch, sizes.cells}));
    }
    SLUICE_ASSIGN_OR_RETURN(const FloatInputs inputs, FloatInputs::Make(context, kFirst, kBlockHGrad));
    FloatOutputs outputs(context);
    BackCall call(context, form_, sizes, inputs);
    SLUICE_RETURN_IF_ERROR(call.Run(&outputs));
    outputs.Finish();
    return absl::OkStatus();
  }

 private:
  const LstmForm form_;
};

constexpr DTypeSet kLstmTypes{DType::kFloat, DType::kHalf};

constexpr KernelRow kRows[] = {
    KernelRow("LSTMBlockCellGrad", &NewWith<LstmCellGradKernel, &ReadLstmForm>).Types("T", kLstmTypes),
    KernelRow("BlockLSTMGrad", &NewWith<BlockLstmGradKernel, &ReadLstmForm>)
        .Types("T", kLstmTypes)
        .HostInput("seq_len_max"),
    KernelRow("BlockLSTMGradV2", &NewWith<BlockLstmGradKernel, &ReadLstmForm>)
        .Types("T", kLstmTypes)
        .HostInput("seq_len_max"),
};

}  // namespace

absl::Span<const KernelRow> LstmGradKernels() { return kRows; }

}  // namespace sluice

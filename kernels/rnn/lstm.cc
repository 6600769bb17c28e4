// LSTMBlockCell, BlockLSTM, BlockLSTMV2. A cell is a sequence of one step. The inputs' part of the gates is one product
// for many steps; the state's part is one product per step, with weights that are packed once per call.

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
constexpr double kCellNs = 15;
// Floats of the gates of many steps: they stay in the cache.
constexpr int64_t kGateFloats = int64_t{1} << 19;

// A sequence, or a cell, which is one of one step.
class LstmKernel final : public Kernel {
 public:
  LstmKernel(const LstmForm& form, bool is_sequence) : form_(form), is_sequence_(is_sequence) {}

  absl::Status Compute(KernelContext& context) const override {
    LstmSizes sizes;
    if (is_sequence_) {
      SLUICE_ASSIGN_OR_RETURN(sizes, ResolveBlockLstm(context));
    } else {
      SLUICE_ASSIGN_OR_RETURN(sizes, ResolveLstmCell(context, form_.has_peephole));
      if (sizes.state() == 0) {
        return Error(ErrorCode::kOpShape).Input(kCsPrev, "cs_prev").Text("is empty");
      }
    }
    const int first = is_sequence_ ? 1 : 0;
    SLUICE_ASSIGN_OR_RETURN(const FloatInputs inputs, FloatInputs::Make(context, first, first + kB));
    FloatOutputs outputs(context);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, is_sequence_ ? Shape::Make({sizes.time, sizes.batch, sizes.cells})
                                                            : Shape::Make({sizes.batch, sizes.cells}));
    float* values[7];
    for (float*& value : values) {
      SLUICE_ASSIGN_OR_RETURN(value, outputs.Add(shape));
      // Steps beyond the length are zero.
      if (shape.num_elements() > 0) {
        std::fill(value + sizes.steps * sizes.state(), value + sizes.time * sizes.state(), 0.0f);
      }
    }
    if (sizes.steps > 0 && sizes.state() > 0) SLUICE_RETURN_IF_ERROR(Run(context, sizes, inputs, first, values));
    outputs.Finish();
    return absl::OkStatus();
  }

 private:
  absl::Status Run(KernelContext& context, const LstmSizes& sizes, const FloatInputs& inputs, int first,
                   float* const* values) const {
    const int64_t step_gates = sizes.batch * sizes.gates();
    const int64_t chunk = std::min(sizes.steps, std::max<int64_t>(1, kGateFloats / step_gates));
    SLUICE_ASSIGN_OR_RETURN(Tensor x_gates, context.AllocateTemp(DType::kFloat, Shape::Of({chunk, step_gates})));
    SLUICE_ASSIGN_OR_RETURN(Tensor h_gates, context.AllocateTemp(DType::kFloat, Shape::Of({step_gates})));
    const float* const w = inputs[first + kW];
    const float* const h_w = w + sizes.inputs * sizes.gates();
    const Tensor h_matrix = inputs.tensor(first + kW).SliceRows(sizes.inputs, sizes.inputs + sizes.cells);
    SLUICE_ASSIGN_OR_RETURN(
        const PackedMatrix packed,
        PackForSteps(context, h_matrix, {sizes.cells, sizes.gates(), false}, sizes.batch, sizes.steps));
    float* const x_gate = x_gates.flat<float>().data();
    float* const h_gate = h_gates.flat<float>().data();
    const float* cs_prev = inputs[first + kCsPrev];
    const float* h_prev = inputs[first + kHPrev];
    const LstmVectors vectors{inputs[first + kWci], inputs[first + kWcf], inputs[first + kWco], inputs[first + kB]};
    for (int64_t step = 0; step < sizes.steps; ++step) {
      if (step % chunk == 0) {
        const int64_t rows = std::min(chunk, sizes.steps - step) * sizes.batch;
        const float* const x = inputs[first + kX] + step * sizes.batch * sizes.inputs;
        SLUICE_RETURN_IF_ERROR(Multiply(context, {{rows, sizes.gates(), sizes.inputs}, x, w}, x_gate));
      }
      SLUICE_RETURN_IF_ERROR(
          Multiply(context, {{sizes.batch, sizes.gates(), sizes.cells}, h_prev, h_w, false, false, &packed}, h_gate));
      const int64_t at = step * sizes.state();
      const float* const from = x_gate + step % chunk * step_gates;
      context.ParallelFor(sizes.batch, kCellNs * static_cast<double>(sizes.cells), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t row = at + r * sizes.cells, gates = r * sizes.gates();
          const LstmRow out{values[0] + row, values[1] + row, values[2] + row, values[3] + row,
                            values[4] + row, values[5] + row, values[6] + row};
          LstmForwardRow(form_, vectors, sizes.cells, from + gates, h_gate + gates, cs_prev + r * sizes.cells, out);
        }
      });
      cs_prev = values[1] + at;
      h_prev = values[6] + at;
    }
    return absl::OkStatus();
  }

  const LstmForm form_;
  const bool is_sequence_;
};

template <bool kIsSequence>
absl::StatusOr<std::unique_ptr<Kernel>> MakeLstm(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const LstmForm form, ReadLstmForm(construction));
  return std::make_unique<LstmKernel>(form, kIsSequence);
}

constexpr DTypeSet kLstmTypes{DType::kFloat, DType::kHalf};

constexpr KernelRow kRows[] = {
    KernelRow("LSTMBlockCell", &MakeLstm<false>).Types("T", kLstmTypes),
    KernelRow("BlockLSTM", &MakeLstm<true>).Types("T", kLstmTypes).HostInput("seq_len_max"),
    KernelRow("BlockLSTMV2", &MakeLstm<true>).Types("T", kLstmTypes).HostInput("seq_len_max"),
};

}  // namespace

absl::Span<const KernelRow> LstmKernels() { return kRows; }

}  // namespace sluice

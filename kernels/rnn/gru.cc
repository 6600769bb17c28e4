// GRUBlockCell and its gradient.

#include <algorithm>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/float_math.h"
#include "kernels/new_kernel.h"
#include "kernels/rnn/cell_product.h"
#include "kernels/rnn/cell_values.h"
#include "kernels/rnn/families.h"
#include "kernels/rnn/lstm_math.h"

namespace sluice {
namespace {

// Nanoseconds for a cell of a row.
constexpr double kCellNs = 6;

enum GruInput { kX, kHPrev, kWRu, kWC, kBRu, kBC, kR, kU, kC, kDH };

struct GruSizes {
  int64_t batch = 0;
  int64_t inputs = 0;
  int64_t cells = 0;

  int64_t state() const { return batch * cells; }
};

absl::StatusOr<GruSizes> ResolveGru(const KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckCellRank(context, kX, "x", 2));
  SLUICE_RETURN_IF_ERROR(CheckCellRank(context, kHPrev, "h_prev", 2));
  const GruSizes sizes{context.input(kX).dim(0), context.input(kX).dim(1), context.input(kHPrev).dim(1)};
  constexpr int64_t kMaxSize = int64_t{1} << 40;  // Products of two sizes and 4 can be counted.
  if (sizes.inputs > kMaxSize || sizes.cells > kMaxSize) {
    return Error(ErrorCode::kOpTooLarge).Input(kX, "x").Found(context.input(kX).shape().ToString());
  }
  const int64_t rows = sizes.inputs + sizes.cells;
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, kHPrev, "h_prev", {sizes.batch, sizes.cells}));
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, kWRu, "w_ru", {rows, 2 * sizes.cells}));
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, kWC, "w_c", {rows, sizes.cells}));
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, kBRu, "b_ru", {2 * sizes.cells}));
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, kBC, "b_c", {sizes.cells}));
  return sizes;
}

// The elements of a tensor of floats, of input or output `i`.
const float* In(const KernelContext& context, int i) { return context.input(i).flat<float>().data(); }
absl::StatusOr<float*> Out(KernelContext& context, int i, int64_t rows, int64_t cols) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows, cols}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(i, shape));
  return output->flat<float>().data();
}

// Memory for `batch` rows of as many floats as each of `widths`, and the pieces of it.
class Pieces {
 public:
  static absl::StatusOr<Pieces> Make(KernelContext& context, int64_t batch, absl::Span<const int64_t> widths) {
    int64_t width = 0;
    for (const int64_t one : widths) width += one;
    Pieces pieces;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({batch, width}));
    SLUICE_ASSIGN_OR_RETURN(pieces.memory_, context.AllocateTemp(DType::kFloat, shape));
    int64_t at = 0;
    for (const int64_t one : widths) {
      pieces.begins_.push_back(at);
      at += batch * one;
    }
    return pieces;
  }
  float* operator[](size_t i) { return memory_.flat<float>().data() + begins_[i]; }

 private:
  Tensor memory_;
  absl::InlinedVector<int64_t, 4> begins_;
};

// The cell: r, u = sigmoid([x, h] w_ru + b_ru), c = tanh([x, r h] w_c + b_c), h' = u h + (1 - u) c.
absl::Status ComputeGru(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const GruSizes sizes, ResolveGru(context));
  const int64_t batch = sizes.batch, cells = sizes.cells, inputs = sizes.inputs;
  float* values[4];
  for (int i = 0; i < 4; ++i) {
    SLUICE_ASSIGN_OR_RETURN(values[i], Out(context, i, batch, cells));
  }
  if (sizes.state() == 0) return absl::OkStatus();
  float *const r = values[0], *const u = values[1], *const c = values[2], *const h = values[3];
  const float *const h_prev = In(context, kHPrev), *const b_ru = In(context, kBRu), *const b_c = In(context, kBC);
  const float *const w_ru = In(context, kWRu), *const w_c = In(context, kWC), *const x = In(context, kX);
  SLUICE_ASSIGN_OR_RETURN(Pieces pieces, Pieces::Make(context, batch, {2 * cells, 2 * cells}));
  float *const from_x = pieces[0], *const from_h = pieces[1];
  const double row_ns = kCellNs * static_cast<double>(cells);
  SLUICE_RETURN_IF_ERROR(Multiply(context, {{batch, 2 * cells, inputs}, x, w_ru}, from_x));
  SLUICE_RETURN_IF_ERROR(Multiply(context, {{batch, 2 * cells, cells}, h_prev, w_ru + inputs * 2 * cells}, from_h));
  // h holds r h until the end.
  context.ParallelFor(batch, row_ns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row * cells, gate = 2 * at;
      for (int64_t k = 0; k < cells; ++k) {
        r[at + k] = float_math::Sigmoid(from_x[gate + k] + from_h[gate + k] + b_ru[k]);
        const int64_t update = gate + cells + k;
        u[at + k] = float_math::Sigmoid(from_x[update] + from_h[update] + b_ru[cells + k]);
        h[at + k] = h_prev[at + k] * r[at + k];
      }
    }
  });
  SLUICE_RETURN_IF_ERROR(Multiply(context, {{batch, cells, inputs}, x, w_c}, from_x));
  SLUICE_RETURN_IF_ERROR(Multiply(context, {{batch, cells, cells}, h, w_c + inputs * cells}, from_h));
  context.ParallelFor(batch, row_ns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t k = row * cells; k < (row + 1) * cells; ++k) {
        c[k] = float_math::Tanh(from_x[k] + from_h[k] + b_c[k - row * cells]);
        h[k] = u[k] * h_prev[k] + (1 - u[k]) * c[k];
      }
    }
  });
  return absl::OkStatus();
}

// The gradients of c and of u before their functions, for elements [begin, end).
void CandidateGrads(const KernelContext& context, int64_t cells, int64_t begin_row, int64_t end_row, float* d_c_bar,
                    float* d_ru_bar) {
  const float *const u = In(context, kU), *const c = In(context, kC), *const d_h = In(context, kDH);
  const float* const h_prev = In(context, kHPrev);
  for (int64_t row = begin_row; row < end_row; ++row) {
    float* const d_u_bar = d_ru_bar + row * 2 * cells + cells;
    for (int64_t k = 0; k < cells; ++k) {
      const int64_t at = row * cells + k;
      d_c_bar[at] = d_h[at] * (1 - u[at]) * (1 - c[at] * c[at]);
      d_u_bar[k] = d_h[at] * (h_prev[at] - c[at]) * u[at] * (1 - u[at]);
    }
  }
}

absl::Status ComputeGruGrad(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const GruSizes sizes, ResolveGru(context));
  const int64_t batch = sizes.batch, cells = sizes.cells, inputs = sizes.inputs;
  constexpr const char* kNames[] = {"r", "u", "c", "d_h"};
  for (int i = kR; i <= kDH; ++i) SLUICE_RETURN_IF_ERROR(CheckCellShape(context, i, kNames[i - kR], {batch, cells}));
  SLUICE_ASSIGN_OR_RETURN(float* const d_x, Out(context, 0, batch, inputs));
  SLUICE_ASSIGN_OR_RETURN(float* const d_h_prev, Out(context, 1, batch, cells));
  SLUICE_ASSIGN_OR_RETURN(float* const d_c_bar, Out(context, 2, batch, cells));
  SLUICE_ASSIGN_OR_RETURN(float* const d_ru_bar, Out(context, 3, batch, 2 * cells));
  if (batch == 0) return absl::OkStatus();
  const double row_ns = kCellNs * static_cast<double>(cells);
  context.ParallelFor(batch, row_ns, [&](int64_t begin, int64_t end) {
    CandidateGrads(context, cells, begin, end, d_c_bar, d_ru_bar);
  });
  const float *const w_ru = In(context, kWRu), *const w_c = In(context, kWC);
  const float *const r = In(context, kR), *const u = In(context, kU), *const d_h = In(context, kDH);
  const float* const h_prev = In(context, kHPrev);
  SLUICE_ASSIGN_OR_RETURN(Pieces pieces, Pieces::Make(context, batch, {cells, inputs}));
  float *const d_hr = pieces[0], *const more_x = pieces[1];
  SLUICE_RETURN_IF_ERROR(Multiply(context, {{batch, cells, cells}, d_c_bar, w_c + inputs * cells, false, true}, d_hr));
  context.ParallelFor(batch, row_ns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t k = 0; k < cells; ++k) {
        const int64_t at = row * cells + k;
        d_ru_bar[row * 2 * cells + k] = d_hr[at] * h_prev[at] * r[at] * (1 - r[at]);
      }
    }
  });
  SLUICE_RETURN_IF_ERROR(
      Multiply(context, {{batch, cells, 2 * cells}, d_ru_bar, w_ru + inputs * 2 * cells, false, true}, d_h_prev));
  SLUICE_RETURN_IF_ERROR(Multiply(context, {{batch, inputs, 2 * cells}, d_ru_bar, w_ru, false, true}, d_x));
  SLUICE_RETURN_IF_ERROR(Multiply(context, {{batch, inputs, cells}, d_c_bar, w_c, false, true}, more_x));
  context.ParallelFor(batch, row_ns, [&](int64_t begin, int64_t end) {
    AddFloats(more_x + begin * inputs, (end - begin) * inputs, d_x + begin * inputs);
    for (int64_t k = begin * cells; k < end * cells; ++k) d_h_prev[k] += d_hr[k] * r[k] + d_h[k] * u[k];
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("GRUBlockCell", &Call<ComputeGru>).Types("T", {DType::kFloat}),
    KernelRow("GRUBlockCellGrad", &Call<ComputeGruGrad>).Types("T", {DType::kFloat}),
};

}  // namespace

absl::Span<const KernelRow> GruKernels() { return kRows; }

}  // namespace sluice

#include "kernels/rnn/lstm_sizes.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/rnn/cell_values.h"

namespace sluice {
namespace {

// All but the peepholes, which start at input `first` + kWci.
absl::Status CheckMatrices(const KernelContext& context, int first, LstmSizes* sizes) {
  const int x_rank = first == 0 ? 2 : 3;
  SLUICE_RETURN_IF_ERROR(CheckCellRank(context, first + kX, "x", x_rank));
  SLUICE_RETURN_IF_ERROR(CheckCellRank(context, first + kCsPrev, "cs_prev", 2));
  const Shape& x = context.input(first + kX).shape();
  if (first > 0) sizes->time = x.dim(0);
  sizes->batch = x.dim(x_rank - 2);
  sizes->inputs = x.dim(x_rank - 1);
  sizes->cells = context.input(first + kCsPrev).dim(1);
  constexpr int64_t kMaxSize = int64_t{1} << 40;  // Products of two sizes and 4 can be counted.
  if (sizes->inputs > kMaxSize || sizes->cells > kMaxSize) {
    return Error(ErrorCode::kOpTooLarge).Input(first + kX, "x").Found(x.ToString());
  }
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, first + kCsPrev, "cs_prev", {sizes->batch, sizes->cells}));
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, first + kHPrev, "h_prev", {sizes->batch, sizes->cells}));
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, first + kW, "w", {sizes->inputs + sizes->cells, 4 * sizes->cells}));
  return CheckCellShape(context, first + kB, "b", {4 * sizes->cells});
}

absl::Status CheckPeepholes(const KernelContext& context, int first, int64_t cells) {
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, first + kWci, "wci", {cells}));
  SLUICE_RETURN_IF_ERROR(CheckCellShape(context, first + kWcf, "wcf", {cells}));
  return CheckCellShape(context, first + kWco, "wco", {cells});
}

}  // namespace

absl::StatusOr<LstmSizes> ResolveLstmCell(const KernelContext& context, bool has_peephole) {
  LstmSizes sizes;
  SLUICE_RETURN_IF_ERROR(CheckMatrices(context, 0, &sizes));
  for (int i = kWci; i <= kWco; ++i) SLUICE_RETURN_IF_ERROR(CheckCellRank(context, i, "a peephole", 1));
  if (has_peephole) SLUICE_RETURN_IF_ERROR(CheckPeepholes(context, 0, sizes.cells));
  return sizes;
}

absl::StatusOr<LstmSizes> ResolveBlockLstm(const KernelContext& context) {
  LstmSizes sizes;
  SLUICE_RETURN_IF_ERROR(CheckCellRank(context, 0, "seq_len_max", 0));
  SLUICE_RETURN_IF_ERROR(CheckMatrices(context, 1, &sizes));
  SLUICE_RETURN_IF_ERROR(CheckPeepholes(context, 1, sizes.cells));
  sizes.steps = context.input(0).flat<int64_t>()[0];
  if (sizes.steps >= 0 && sizes.steps <= sizes.time) return sizes;
  return ValueError(0, "seq_len_max", sizes.steps, absl::StrCat("0 to ", sizes.time));
}

absl::StatusOr<LstmForm> ReadLstmForm(const KernelConstruction& construction) {
  LstmForm form;
  form.is_ifco = absl::EndsWith(construction.op(), "V2");
  SLUICE_ASSIGN_OR_RETURN(form.has_peephole, construction.Get<bool>("use_peephole"));
  // Gradients have neither, and version 2 no bias.
  SLUICE_ASSIGN_OR_RETURN(form.forget_bias, construction.GetOr<float>("forget_bias", 0.0f));
  SLUICE_ASSIGN_OR_RETURN(form.clip, construction.GetOr<float>("cell_clip", 0.0f));
  return form;
}

}  // namespace sluice

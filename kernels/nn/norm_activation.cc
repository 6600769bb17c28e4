#include "kernels/nn/norm_activation.h"

#include <cmath>

#include "graph/base/status_macros.h"
#include "kernels/linalg/channel_finish.h"

namespace sluice {

absl::StatusOr<NormActivation> NormActivation::Make(absl::Span<const Tensor> args, float epsilon,
                                                    const FusedActivation& activation, float alpha,
                                                    Allocator& allocator) {
  SLUICE_ASSIGN_OR_RETURN(Tensor factors, Tensor::Make(DType::kFloat, args[0].shape(), allocator));
  float* const factor = factors.flat<float>().data();
  const float* const scale = args[0].flat<float>().data();
  const float* const variance = args[3].flat<float>().data();
  for (int64_t i = 0; i < args[0].num_elements(); ++i) factor[i] = scale[i] / std::sqrt(variance[i] + epsilon);
  return NormActivation(args[2], std::move(factors), args[1], activation, alpha);
}

void NormActivation::Finish(float* c, int64_t ldc, int64_t rows, int64_t first_col, int64_t cols) const {
  ChannelFinish finish;
  finish.means = means_.flat<float>().data() + first_col;
  finish.factors = factors_.flat<float>().data() + first_col;
  finish.offsets = offsets_.flat<float>().data() + first_col;
  FinishAndActivate(finish, activation_, alpha_, c, ldc, rows, cols);
}

}  // namespace sluice

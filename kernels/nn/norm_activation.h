#ifndef SLUICE_KERNELS_NN_NORM_ACTIVATION_H_
#define SLUICE_KERNELS_NN_NORM_ACTIVATION_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"
#include "kernels/linalg/bias_activation.h"
#include "kernels/linalg/gemm.h"

namespace sluice {

// The epilogue of fused convolutions whose channels are normalised by given statistics: (x - mean) * factor + offset
// with factor = scale / sqrt(variance + epsilon), as FusedBatchNorm makes it, then the activation. Immutable.
class NormActivation final : public GemmEpilogue<float> {
 public:
  // `args`: scale, offset, mean and variance, floats of one size, which it keeps. kOutOfMemory.
  static absl::StatusOr<NormActivation> Make(absl::Span<const Tensor> args, float epsilon,
                                             const FusedActivation& activation, float alpha, Allocator& allocator);

  void Finish(float* c, int64_t ldc, int64_t rows, int64_t first_col, int64_t cols) const override;

 private:
  NormActivation(Tensor means, Tensor factors, Tensor offsets, const FusedActivation& activation, float alpha)
      : means_(std::move(means)),
        factors_(std::move(factors)),
        offsets_(std::move(offsets)),
        activation_(activation),
        alpha_(alpha) {}

  const Tensor means_, factors_, offsets_;
  const FusedActivation& activation_;
  const float alpha_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_NORM_ACTIVATION_H_

#ifndef SLUICE_KERNELS_LINALG_BIAS_ACTIVATION_H_
#define SLUICE_KERNELS_LINALG_BIAS_ACTIVATION_H_

#include <cstdint>
#include <limits>

#include "absl/strings/string_view.h"
#include "kernels/linalg/channel_finish.h"
#include "kernels/linalg/gemm.h"

namespace sluice {

// What may follow the bias in a fused op, by its name in attr 'fused_ops'. Constant data.
struct FusedActivation {
  // Elements that `apply` takes at most: they stay in the first-level cache.
  static constexpr int64_t kBlock = 512;

  absl::string_view name;  // Empty: nothing follows.
  // In place; `alpha` is LeakyRelu's slope.
  void (*apply)(float* x, int64_t n, float alpha);
  // Whether that is to clamp to [low, high].
  bool is_clamp = false;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// Null if no activation has that name.
const FusedActivation* FindFusedActivation(absl::string_view name);

// Finishes `rows` rows of `cols` elements, `ldc` apart: as `finish` says, whose clamp is set here, then the activation.
void FinishAndActivate(ChannelFinish finish, const FusedActivation& activation, float alpha, float* c, int64_t ldc,
                       int64_t rows, int64_t cols);

// The epilogue of _FusedMatMul and _FusedConv2D: adds a bias to each column, then applies the activation. Bits do not
// depend on how C is cut. Borrows the bias, of as many elements as C has columns (null: none). Immutable.
class BiasActivation final : public GemmEpilogue<float> {
 public:
  BiasActivation(const float* bias, const FusedActivation& activation, float alpha)
      : bias_(bias), activation_(activation), alpha_(alpha) {}

  void Finish(float* c, int64_t ldc, int64_t rows, int64_t first_col, int64_t cols) const override;

 private:
  const float* const bias_;
  const FusedActivation& activation_;
  const float alpha_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_BIAS_ACTIVATION_H_

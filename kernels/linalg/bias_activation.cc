#include "kernels/linalg/bias_activation.h"

#include <algorithm>

#include "kernels/math/activation_ops.h"
#include "kernels/math/float_loops.h"
#include "kernels/math/float_ops.h"
#include "kernels/math/loops.h"

namespace sluice {
namespace {

constexpr int64_t kBlock = FusedActivation::kBlock;

void Same(float*, int64_t, float) {}

template <typename Op>
void ApplyUnary(float* x, int64_t n, float) {
  UnaryLoopsFor<Op, float>().loop(x, x, n);
}

void LeakyRelu(float* x, int64_t n, float alpha) { BinaryLoopsFor<LeakyReluOp, float>().repeat_b(x, &alpha, x, n); }

// x/2 * (1 + function), the function's values at `y`.
void HalfTimes(float* x, const float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = 0.5f * x[i] * (1.0f + y[i]);
}

void GeluExact(float* x, int64_t n, float) {
  float y[kBlock];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * 0.70710678f;
  ApplyUnary<ErfOp>(y, n, 0.0f);
  HalfTimes(x, y, n);
}

void GeluApproximate(float* x, int64_t n, float) {
  float y[kBlock];
  for (int64_t i = 0; i < n; ++i) y[i] = 0.79788456f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
  ApplyUnary<TanhOp>(y, n, 0.0f);
  HalfTimes(x, y, n);
}

constexpr FusedActivation kActivations[] = {
    {"", &Same, true},
    {"Relu", &ApplyUnary<ReluOp>, true, 0},
    {"Relu6", &ApplyUnary<Relu6Op>, true, 0, 6},
    {"Elu", &ApplyUnary<EluOp>},
    {"LeakyRelu", &LeakyRelu},
    {"Tanh", &ApplyUnary<TanhOp>},
    {"Sigmoid", &ApplyUnary<SigmoidOp>},
    {"GeluExact", &GeluExact},
    {"GeluApproximate", &GeluApproximate},
};

}  // namespace

const FusedActivation* FindFusedActivation(absl::string_view name) {
  for (const FusedActivation& activation : kActivations) {
    if (activation.name == name) return &activation;
  }
  return nullptr;
}

void FinishAndActivate(ChannelFinish finish, const FusedActivation& activation, float alpha, float* c, int64_t ldc,
                       int64_t rows, int64_t cols) {
  if (activation.is_clamp) {
    finish.low = activation.low;
    finish.high = activation.high;
    return BestFinish()(finish, c, ldc, rows, cols);
  }
  for (int64_t i = 0; i < rows; ++i) {
    BestFinish()(finish, c + i * ldc, ldc, 1, cols);
    for (int64_t at = 0; at < cols; at += kBlock) {
      activation.apply(c + i * ldc + at, std::min(kBlock, cols - at), alpha);
    }
  }
}

void BiasActivation::Finish(float* c, int64_t ldc, int64_t rows, int64_t first_col, int64_t cols) const {
  ChannelFinish finish;
  if (bias_ != nullptr) finish.offsets = bias_ + first_col;
  FinishAndActivate(finish, activation_, alpha_, c, ldc, rows, cols);
}

}  // namespace sluice

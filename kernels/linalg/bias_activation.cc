#include "kernels/linalg/bias_activation.h"

#include <algorithm>

#include "kernels/math/activation_ops.h"
#include "kernels/math/arithmetic_ops.h"
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
    {"", &Same},
    {"Relu", &ApplyUnary<ReluOp>},
    {"Relu6", &ApplyUnary<Relu6Op>},
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

void BiasActivation::Finish(float* c, int64_t ldc, int64_t rows, int64_t first_col, int64_t cols) const {
  const BinaryLoop add = BinaryLoopsFor<AddOp, float>().both;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t at = 0; at < cols; at += kBlock) {
      float* const x = c + i * ldc + at;
      const int64_t n = std::min(kBlock, cols - at);
      if (bias_ != nullptr) add(x, bias_ + first_col + at, x, n);
      activation_.apply(x, n, alpha_);
    }
  }
}

}  // namespace sluice

#ifndef SLUICE_KERNELS_MATH_SOFTMAX_ROWS_H_
#define SLUICE_KERNELS_MATH_SOFTMAX_ROWS_H_

// Softmax of one row of floats, for the instruction set Isa. See Note [Instruction sets] in float_loops.h.

#include <cstdint>

#include "kernels/math/float_math.h"
#include "kernels/math/loops.h"

namespace sluice {

// Partial results of a reduction: as many as the widest registers take, so that one addition waits for no other.
inline constexpr int kReductionLanes = 32;

struct MaximumOf {
  static constexpr float kStart = -float_math::kInfinity;
  [[gnu::always_inline]] static float Apply(float a, float b) { return a > b ? a : b; }
};
struct SumOf {
  static constexpr float kStart = 0.0f;
  [[gnu::always_inline]] static float Apply(float a, float b) { return a + b; }
};

template <typename Op>
[[gnu::always_inline]] inline float ReduceRow(const float* x, int64_t n) {
  float lanes[kReductionLanes];
  for (float& lane : lanes) lane = Op::kStart;
  int64_t i = 0;
  for (; i + kReductionLanes <= n; i += kReductionLanes) {
    for (int k = 0; k < kReductionLanes; ++k) lanes[k] = Op::Apply(lanes[k], x[i + k]);
  }
  float y = Op::kStart;
  for (; i < n; ++i) y = Op::Apply(y, x[i]);
  for (const float lane : lanes) y = Op::Apply(y, lane);
  return y;
}

// exp(x) over the sum of it. `out` may be `x`.
template <typename Isa>
void SoftmaxRow(const float* x, float* out, int64_t n) {
  const float maximum = ReduceRow<MaximumOf>(x, n);
  SLUICE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = float_math::Exp(x[i] - maximum);
  const float scale = 1.0f / ReduceRow<SumOf>(out, n);
  for (int64_t i = 0; i < n; ++i) out[i] *= scale;
}

// The logarithm of that.
template <typename Isa>
void LogSoftmaxRow(const float* x, float* out, int64_t n) {
  constexpr int64_t kBlock = 256;
  float block[kBlock];
  const float maximum = ReduceRow<MaximumOf>(x, n);
  float sum = 0;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t size = n - at < kBlock ? n - at : kBlock;
    for (int64_t i = 0; i < size; ++i) block[i] = float_math::Exp(x[at + i] - maximum);
    sum += ReduceRow<SumOf>(block, size);
  }
  const float log_sum = float_math::Log(sum);
  SLUICE_INDEPENDENT_LOOP
  for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - maximum) - log_sum;
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_SOFTMAX_ROWS_H_

#ifndef SLUICE_KERNELS_LINALG_FINISH_TILE_H_
#define SLUICE_KERNELS_LINALG_FINISH_TILE_H_

// The inner loop of ChannelFinish over a vector class `V` of floats, which gemm_tile.h describes; it has Max(a, b) and
// Min(a, b), too, which are b where neither is larger. Included by the files of the instruction sets only.

#include "kernels/linalg/channel_finish.h"

namespace sluice {
namespace {

template <typename V, bool kNorm, bool kPart>
inline void FinishBlock(const ChannelFinish& finish, float* x, int64_t at, int64_t n) {
  const auto load = [n](const float* from) { return kPart ? V::LoadPart(from, n) : V::Load(from); };
  typename V::Reg y = load(x + at);
  if (kNorm) {
    // Multiply-adds that are exact but for one step: the compiler cannot join the steps.
    const typename V::Reg distance = V::Fma(V::Set(-1), load(finish.means + at), y);
    y = V::Fma(distance, load(finish.factors + at), V::Set(-0.0f));
  }
  if (finish.offsets != nullptr) y = V::Add(y, load(finish.offsets + at));
  y = V::Min(V::Set(finish.high), V::Max(V::Set(finish.low), y));
  if (kPart) {
    V::StorePart(x + at, y, n);
  } else {
    V::Store(x + at, y);
  }
}

template <typename V, bool kNorm>
void FinishRows(const ChannelFinish& finish, float* c, int64_t ldc, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    float* const x = c + i * ldc;
    int64_t at = 0;
    for (; at + V::kLanes <= cols; at += V::kLanes) FinishBlock<V, kNorm, false>(finish, x, at, V::kLanes);
    if (at < cols) FinishBlock<V, kNorm, true>(finish, x, at, cols - at);
  }
}

template <typename V>
void Finish(const ChannelFinish& finish, float* c, int64_t ldc, int64_t rows, int64_t cols) {
  if (finish.factors != nullptr) {
    FinishRows<V, true>(finish, c, ldc, rows, cols);
  } else {
    FinishRows<V, false>(finish, c, ldc, rows, cols);
  }
}

}  // namespace
}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_FINISH_TILE_H_

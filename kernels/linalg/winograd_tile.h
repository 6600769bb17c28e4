#ifndef SLUICE_KERNELS_LINALG_WINOGRAD_TILE_H_
#define SLUICE_KERNELS_LINALG_WINOGRAD_TILE_H_

// The two transforms of Note [Minimal filtering] in kernels/nn/winograd.h over a vector class `V`, which gemm_tile.h
// describes: along the channels, all of a tile in registers. Included by the files of the instruction sets only.

#include "kernels/linalg/gemm_isa.h"

namespace sluice {
namespace {

// a - b, rounded once.
template <typename V>
inline typename V::Reg Minus(typename V::Reg a, typename V::Reg b) {
  return V::Fma(V::Set(-1), b, a);
}

// The image's transform of four numbers, in place.
template <typename V>
inline void SpreadFour(typename V::Reg& d0, typename V::Reg& d1, typename V::Reg& d2, typename V::Reg& d3) {
  const typename V::Reg sum = V::Add(d1, d2);
  const typename V::Reg difference = Minus<V>(d2, d1);
  d0 = Minus<V>(d0, d2);
  d3 = Minus<V>(d1, d3);
  d1 = sum;
  d2 = difference;
}

template <typename V, bool kPart>
void SpreadBlock(int64_t n, const typename V::T* const* pixels, int64_t first, typename V::T* out, int64_t step) {
  typename V::Reg d[4][4];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const typename V::T* const from = pixels[i] + first;
    d[i / 4][i % 4] = kPart ? V::LoadPart(from, n) : V::Load(from);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) SpreadFour<V>(d[0][i], d[1][i], d[2][i], d[3][i]);
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) SpreadFour<V>(d[i][0], d[i][1], d[i][2], d[i][3]);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    typename V::T* const to = out + i * step + first;
    if (kPart) {
      V::StorePart(to, d[i / 4][i % 4], n);
    } else {
      V::Store(to, d[i / 4][i % 4]);
    }
  }
}

template <typename V>
void Spread(int64_t channels, const typename V::T* const* pixels, typename V::T* out, int64_t step) {
  int64_t c = 0;
  for (; c + V::kLanes <= channels; c += V::kLanes) SpreadBlock<V, false>(V::kLanes, pixels, c, out, step);
  if (c < channels) SpreadBlock<V, true>(channels - c, pixels, c, out, step);
}

// Results from 2^20 on are too large: times this they are infinite.
constexpr float kTooLarge = 0x1p108f;

// Returns what is not zero, but NaN, where a result is too large, infinite or NaN.
template <typename V, bool kPart>
typename V::Reg CollectBlock(int64_t n, const typename V::T* sums, int64_t step, int64_t first,
                             typename V::T* const* pixels) {
  typename V::Reg half[2][4];  // Rows of the tile are done.
#pragma GCC unroll 16
  for (int j = 0; j < 4; ++j) {
    typename V::Reg m[4];
#pragma GCC unroll 16
    for (int i = 0; i < 4; ++i) {
      const typename V::T* const from = sums + (4 * i + j) * step + first;
      m[i] = kPart ? V::LoadPart(from, n) : V::Load(from);
    }
    half[0][j] = V::Add(V::Add(m[0], m[1]), m[2]);
    half[1][j] = Minus<V>(Minus<V>(m[1], m[2]), m[3]);
  }
  typename V::Reg wrong = V::Zero();
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) {
    if (pixels[i] == nullptr) continue;
    const typename V::Reg* const m = half[i / 2];
    const typename V::Reg y = i % 2 == 0 ? V::Add(V::Add(m[0], m[1]), m[2]) : Minus<V>(Minus<V>(m[1], m[2]), m[3]);
    wrong = V::Fma(V::Fma(y, V::Set(kTooLarge), V::Zero()), V::Zero(), wrong);
    if (kPart) {
      V::StorePart(pixels[i] + first, y, n);
    } else {
      V::Store(pixels[i] + first, y);
    }
  }
  return wrong;
}

template <typename V>
bool Collect(int64_t channels, const typename V::T* sums, int64_t step, typename V::T* const* pixels) {
  typename V::Reg wrong = V::Zero();
  int64_t c = 0;
  for (; c + V::kLanes <= channels; c += V::kLanes) {
    wrong = V::Add(wrong, CollectBlock<V, false>(V::kLanes, sums, step, c, pixels));
  }
  if (c < channels) wrong = V::Add(wrong, CollectBlock<V, true>(channels - c, sums, step, c, pixels));
  return V::Sum(wrong) == 0;
}

}  // namespace
}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_WINOGRAD_TILE_H_

#ifndef SLUICE_KERNELS_LINALG_CHANNEL_TILE_H_
#define SLUICE_KERNELS_LINALG_CHANNEL_TILE_H_

// The inner loops of ChannelProducts over a vector class `V`, which gemm_tile.h describes. Sums stay in registers; two
// pixels share what is read of b. Included by the files of the instruction sets only.

#include "kernels/linalg/gemm_isa.h"

namespace sluice {
namespace {

// Channels [first, first + (kVectors - 1) * lanes + last) of kPixels pixels from `pixel` on.
template <typename V, int kPixels, int kVectors, bool kPart>
void ChannelBlock(const ChannelProducts<typename V::T>& products, int64_t pixel, int64_t first, int64_t last) {
  using T = typename V::T;
  typename V::Reg sums[kPixels][kVectors];
  const T* const a = products.a + pixel * products.a_pixel + first;
  T* const out = products.out + pixel * products.out_pixel + first;
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const T* const from = out + i * products.out_pixel + v * V::kLanes;
      sums[i][v] = !products.accumulate ? V::Zero() : kPart ? V::LoadPart(from, last) : V::Load(from);
    }
  }
  for (int64_t r = 0; r < products.rows; ++r) {
    const T* a_at = a + r * products.a_row;
    const T* b_at = products.b + r * products.b_row + first;
    for (int64_t q = 0; q < products.cols; ++q, a_at += products.a_col, b_at += products.b_col) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const T* const from = b_at + v * V::kLanes;
        const typename V::Reg y = kPart ? V::LoadPart(from, last) : V::Load(from);
#pragma GCC unroll 16
        for (int i = 0; i < kPixels; ++i) {
          const T* const x_from = a_at + i * products.a_pixel + v * V::kLanes;
          const typename V::Reg x = kPart ? V::LoadPart(x_from, last) : V::Load(x_from);
          sums[i][v] = V::Fma(x, y, sums[i][v]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      T* const to = out + i * products.out_pixel + v * V::kLanes;
      if (kPart) {
        V::StorePart(to, sums[i][v], last);
      } else {
        V::Store(to, sums[i][v]);
      }
    }
  }
}

// All channels of kPixels pixels.
template <typename V, int kPixels>
void ChannelsOfPixels(const ChannelProducts<typename V::T>& products, int64_t pixel) {
  constexpr int64_t kBlock = 4 * V::kLanes;
  int64_t c = 0;
  for (; c + kBlock <= products.channels; c += kBlock)
    ChannelBlock<V, kPixels, 4, false>(products, pixel, c, V::kLanes);
  for (; c + V::kLanes <= products.channels; c += V::kLanes) {
    ChannelBlock<V, kPixels, 1, false>(products, pixel, c, V::kLanes);
  }
  if (c < products.channels) ChannelBlock<V, kPixels, 1, true>(products, pixel, c, products.channels - c);
}

template <typename V>
void Channels(const ChannelProducts<typename V::T>& products) {
  int64_t pixel = 0;
  for (; pixel + 2 <= products.pixels; pixel += 2) ChannelsOfPixels<V, 2>(products, pixel);
  if (pixel < products.pixels) ChannelsOfPixels<V, 1>(products, pixel);
}

}  // namespace
}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_CHANNEL_TILE_H_

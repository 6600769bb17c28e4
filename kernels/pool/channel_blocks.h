#ifndef SLUICE_KERNELS_POOL_CHANNEL_BLOCKS_H_
#define SLUICE_KERNELS_POOL_CHANNEL_BLOCKS_H_

// Note [Channel blocks]
// Where windows overlap, gradients of several windows are added to one pixel: all windows of an image belong to one
// shard, which walks them in order. Channels do not meet, so a shard is a block of channels of an image, whatever the
// number of threads, and results are the same bits for any.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/status/status.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/workers.h"

namespace sluice {

// Channels of a block, at most.
inline constexpr int64_t kChannelBlock = 64;

// Channels [begin, begin + size) of one image.
struct ChannelBlock {
  int64_t image;
  int64_t begin;
  int64_t size;
};

// Calls `work(block)`, which gives a status, for all blocks; `channel_ns` is the time for one channel of an image.
template <typename Work>
absl::Status ForEachChannelBlock(const Workers& workers, const PoolGeometry& geometry, double channel_ns,
                                 const Work& work) {
  const int64_t blocks = (geometry.channels + kChannelBlock - 1) / kChannelBlock;
  const double block_ns = channel_ns * static_cast<double>(std::min(geometry.channels, kChannelBlock));
  return workers.ForEachShard(geometry.images * blocks, block_ns, [&](int64_t shard, int) {
    const int64_t begin = shard % blocks * kChannelBlock;
    return work(ChannelBlock{shard / blocks, begin, std::min(geometry.channels - begin, kChannelBlock)});
  });
}

// Sets the block's elements of `image`, which has `pixels` pixels, to zero.
template <typename W>
void ZeroBlock(const PoolGeometry& geometry, const ChannelBlock& block, int64_t pixels, W* images) {
  W* const to = images + block.image * pixels * geometry.channels + block.begin;
  if (block.size == geometry.channels) {
    std::fill_n(to, pixels * geometry.channels, W{0});
    return;
  }
  for (int64_t i = 0; i < pixels; ++i) std::fill_n(to + i * geometry.channels, block.size, W{0});
}

// `a` where `first`, else `b`: by their bits, since of a choice between what is stored and what was there the compiler
// makes branches, which random elements mispredict; of this it makes vectors.
template <typename W>
W ChooseBits(bool first, W a, W b) {
  using Bits = std::conditional_t<sizeof(W) == 4, uint32_t, uint64_t>;
  static_assert(sizeof(W) == sizeof(Bits), "four or eight bytes");
  Bits x, y;
  std::memcpy(&x, &a, sizeof(W));
  std::memcpy(&y, &b, sizeof(W));
  y ^= (x ^ y) & (Bits{0} - static_cast<Bits>(first));
  W chosen;
  std::memcpy(&chosen, &y, sizeof(W));
  return chosen;
}

// A window of an image.
struct PoolWindow {
  PoolSpan spans[3];
  int64_t output_pixel;  // Within the image's part of the result.

  int64_t size() const { return spans[0].size() * spans[1].size() * spans[2].size(); }
};

// Calls `visit(window)` for the windows of an image, in order.
template <typename Visit>
void ForEachWindow(const PoolGeometry& g, const Visit& visit) {
  PoolWindow window{};
  for (int64_t i = 0; i < g.axes[0].out; ++i) {
    window.spans[0] = g.axes[0].SpanOf(i);
    for (int64_t k = 0; k < g.axes[1].out; ++k) {
      window.spans[1] = g.axes[1].SpanOf(k);
      for (int64_t o = 0; o < g.axes[2].out; ++o) {
        window.spans[2] = g.axes[2].SpanOf(o);
        visit(static_cast<const PoolWindow&>(window));
        ++window.output_pixel;
      }
    }
  }
}

// Calls `visit(pixel)` for the pixels of a window, in order.
template <typename Visit>
void ForEachPixel(const PoolGeometry& g, const PoolWindow& window, const Visit& visit) {
  for (int64_t i = window.spans[0].begin; i < window.spans[0].end; ++i) {
    for (int64_t k = window.spans[1].begin; k < window.spans[1].end; ++k) {
      const int64_t row = (i * g.axes[1].in + k) * g.axes[2].in;
      for (int64_t o = window.spans[2].begin; o < window.spans[2].end; ++o) visit(row + o);
    }
  }
}

// About the number of pixels that the windows of an image read, for the time of a shard.
inline double PixelsRead(const PoolGeometry& g) {
  double pixels = static_cast<double>(g.output_pixels());
  for (const PoolAxis& axis : g.axes) pixels *= static_cast<double>(std::min(axis.window, axis.in));
  return pixels;
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_CHANNEL_BLOCKS_H_

#ifndef SLUICE_KERNELS_NORM_CHANNEL_LOOPS_H_
#define SLUICE_KERNELS_NORM_CHANNEL_LOOPS_H_

// Loops over a block of rows, compiled for float and double. See Note [Blocks of channels].

#include <cstdint>

#include "kernels/norm/channel_planes.h"

namespace sluice {

// Numbers for each channel are given SumWidth(channels) elements long, repeated.
template <typename W>
struct ChannelLoops {
  // For each of `channels` channels of a row: sums[2c] is the sum of its elements, sums[2c+1] that of the squares of
  // their distance from the block's mean. `scratch`: 4 * SumWidth(channels) elements.
  static void Moments(const W* x, int64_t rows, int64_t channels, W* scratch, double* sums);
  // sums[2c]: the sum of dy, sums[2c+1]: the sum of dy * (x - mean). `scratch`: 2 * SumWidth(channels) elements.
  static void Products(const W* dy, const W* x, const W* mean, int64_t rows, int64_t channels, W* scratch,
                       double* sums);

  // y = (x - mean) * factor + offset. `y` may be `x`.
  static void Normalize(const W* x, const W* mean, const W* factor, const W* offset, int64_t rows, int64_t channels,
                        W* y);
  // dx = (dy - dy_mean - (x - mean) * slope) * factor. `dx` may be `dy` or `x`.
  static void Gradient(const W* dy, const W* x, const W* mean, const W* dy_mean, const W* slope, const W* factor,
                       int64_t rows, int64_t channels, W* dx);
};

extern template struct ChannelLoops<float>;
extern template struct ChannelLoops<double>;

// Repeats the first `channels` elements up to SumWidth(channels).
template <typename W>
void RepeatChannels(W* values, int64_t channels) {
  for (int64_t i = channels; i < SumWidth(channels); ++i) values[i] = values[i - channels];
}

// What the sums of Moments of all blocks come to for channel `channel`.
struct ChannelMoments {
  double mean = 0;
  double squares = 0;  // Sum of the squares of the distances from the mean.
};
ChannelMoments CombineMoments(const ChannelPlanes& planes, const double* sums, int64_t channel);

// The two sums of Products of all blocks for channel `channel`.
struct ProductSums {
  double dy = 0;
  double dy_x = 0;
};
ProductSums CombineProducts(const ChannelPlanes& planes, const double* sums, int64_t channel);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NORM_CHANNEL_LOOPS_H_

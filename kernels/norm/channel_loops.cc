#include "kernels/norm/channel_loops.h"

#include <algorithm>
#include <cmath>

#include "kernels/math/loops.h"

namespace sluice {
namespace {

// Calls `work(at, n)` for the vectors of `width` elements, the last one perhaps shorter, that make up [0, size).
template <typename Work>
[[gnu::always_inline]] inline void ForVectors(int64_t size, int64_t width, const Work& work) {
  for (int64_t at = 0; at < size; at += width) work(at, std::min(width, size - at));
}

// Adds up the elements of a vector of sums that belong to one channel. `out` has two numbers for each.
template <typename W>
void Fold(const W* vector, int64_t width, int64_t channels, double* out) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t i = c; i < width; i += channels) sum += static_cast<double>(vector[i]);
    out[2 * c] = sum;
  }
}

}  // namespace

template <typename W>
void ChannelLoops<W>::Moments(const W* x, int64_t rows, int64_t channels, W* scratch, double* sums) {
  const int64_t width = SumWidth(channels);
  const int64_t size = rows * channels;
  W* const total = scratch;
  W* const squares = scratch + width;
  W* const rest = scratch + 2 * width;
  W* const mean = scratch + 3 * width;
  std::fill_n(scratch, 3 * width, W{0});
  ForVectors(size, width, [=](int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) total[i] += x[at + i];
  });
  Fold(total, width, channels, sums);
  for (int64_t c = 0; c < channels; ++c) mean[c] = static_cast<W>(sums[2 * c] / static_cast<double>(rows));
  RepeatChannels(mean, channels);
  // Around what is about the mean, sums are exact enough to correct it.
  ForVectors(size, width, [=](int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const W distance = x[at + i] - mean[i];
      rest[i] += distance;
      squares[i] += distance * distance;
    }
  });
  Fold(rest, width, channels, sums);
  Fold(squares, width, channels, sums + 1);
  const double count = static_cast<double>(rows);
  for (int64_t c = 0; c < channels; ++c) {
    const double about = static_cast<double>(mean[c]);
    sums[2 * c + 1] -= sums[2 * c] * sums[2 * c] / count;
    // An infinite mean stays what it is, though distances from it are not numbers.
    sums[2 * c] = std::isfinite(about) ? sums[2 * c] + count * about : about;
  }
}

template <typename W>
void ChannelLoops<W>::Products(const W* dy, const W* x, const W* mean, int64_t rows, int64_t channels, W* scratch,
                               double* sums) {
  const int64_t width = SumWidth(channels);
  W* const total = scratch;
  W* const products = scratch + width;
  std::fill_n(scratch, 2 * width, W{0});
  ForVectors(rows * channels, width, [=](int64_t at, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      total[i] += dy[at + i];
      products[i] += dy[at + i] * (x[at + i] - mean[i]);
    }
  });
  Fold(total, width, channels, sums);
  Fold(products, width, channels, sums + 1);
}

template <typename W>
void ChannelLoops<W>::Normalize(const W* x, const W* mean, const W* factor, const W* offset, int64_t rows,
                                int64_t channels, W* y) {
  ForVectors(rows * channels, SumWidth(channels), [=](int64_t at, int64_t n) {
    const W* const from = x + at;
    W* const to = y + at;
    SLUICE_INDEPENDENT_LOOP
    for (int64_t i = 0; i < n; ++i) to[i] = (from[i] - mean[i]) * factor[i] + offset[i];
  });
}

template <typename W>
void ChannelLoops<W>::Gradient(const W* dy, const W* x, const W* mean, const W* dy_mean, const W* slope,
                               const W* factor, int64_t rows, int64_t channels, W* dx) {
  ForVectors(rows * channels, SumWidth(channels), [=](int64_t at, int64_t n) {
    const W* const gradient = dy + at;
    const W* const from = x + at;
    W* const to = dx + at;
    SLUICE_INDEPENDENT_LOOP
    for (int64_t i = 0; i < n; ++i) {
      to[i] = (gradient[i] - dy_mean[i] - (from[i] - mean[i]) * slope[i]) * factor[i];
    }
  });
}

template struct ChannelLoops<float>;
template struct ChannelLoops<double>;

ChannelMoments CombineMoments(const ChannelPlanes& planes, const double* sums, int64_t channel) {
  const int64_t blocks = planes.blocks_of_channel();
  ChannelMoments all;
  for (int64_t i = 0; i < blocks; ++i) all.mean += sums[2 * planes.PlaceOf(channel, i)];
  all.mean /= static_cast<double>(planes.count());
  for (int64_t i = 0; i < blocks; ++i) {
    const double* const block = sums + 2 * planes.PlaceOf(channel, i);
    const double rows = static_cast<double>(planes.RowsOf(i));
    const double distance = block[0] / rows - all.mean;
    all.squares += block[1] + rows * distance * distance;
  }
  return all;
}

ProductSums CombineProducts(const ChannelPlanes& planes, const double* sums, int64_t channel) {
  const int64_t blocks = planes.blocks_of_channel();
  ProductSums all;
  for (int64_t i = 0; i < blocks; ++i) {
    const double* const block = sums + 2 * planes.PlaceOf(channel, i);
    all.dy += block[0];
    all.dy_x += block[1];
  }
  return all;
}

}  // namespace sluice

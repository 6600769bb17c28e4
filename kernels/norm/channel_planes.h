#ifndef SLUICE_KERNELS_NORM_CHANNEL_PLANES_H_
#define SLUICE_KERNELS_NORM_CHANNEL_PLANES_H_

// Note [Blocks of channels]
// Sums over all pixels for each channel are made in blocks of rows of a fixed size: sums of a block in vectors, several
// rows side by side where there are few channels, then the sums of the blocks one after the other in double. Sizes
// alone say how rows are cut, so results do not depend on the number of threads. A block fits a core's cache: what is
// done to it twice is read from memory once.

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "graph/value/shape.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {

// Some rows of a tensor.
struct ChannelBlockOfRows {
  int64_t index = 0;          // Among all blocks.
  int64_t first_element = 0;  // Of the tensor.
  int64_t first_channel = 0;
  int64_t rows = 0;
};

// A tensor as planes of rows of channels: one plane of pixels where the channels come last, a plane for each image and
// channel, whose rows are single elements, where they come second. A value type.
struct ChannelPlanes {
  bool channels_last = true;
  int64_t planes = 1;
  int64_t rows = 0;          // Of a plane.
  int64_t row_channels = 0;  // Of a row.
  int64_t channels = 0;      // Of the tensor.

  // REQUIRES: rank 2 or more.
  static ChannelPlanes Of(const Shape& shape, bool channels_second);

  // Elements of each channel.
  int64_t count() const { return planes * rows / (channels_last ? 1 : channels); }
  int64_t block_rows() const { return std::max<int64_t>(8, kBlockElements / std::max<int64_t>(row_channels, 1)); }
  int64_t blocks_per_plane() const { return (rows + block_rows() - 1) / block_rows(); }
  int64_t num_blocks() const { return planes * blocks_per_plane(); }
  // Elements of the largest block.
  int64_t block_elements() const { return std::min(block_rows(), rows) * row_channels; }
  ChannelBlockOfRows BlockOf(int64_t index) const;

  // For sums that each block leaves for each of its row_channels channels, at index * row_channels: the place of those
  // of channel `channel` in its `i`-th block, of blocks_of_channel().
  int64_t blocks_of_channel() const { return num_blocks() * row_channels / channels; }
  int64_t PlaceOf(int64_t channel, int64_t i) const {
    const int64_t inner = channels_last ? 1 : blocks_per_plane();
    return (i / inner * channels + channel) * inner + i % inner;
  }
  // Rows of that block.
  int64_t RowsOf(int64_t i) const { return std::min(block_rows(), rows - i % blocks_per_plane() * block_rows()); }

  static constexpr int64_t kBlockElements = 32768;
};

// How many rows stand side by side in one vector of sums.
inline int64_t RowsSideBySide(int64_t row_channels) {
  return std::max<int64_t>(1, 32 / std::max<int64_t>(1, row_channels));
}
// Elements of that vector.
inline int64_t SumWidth(int64_t row_channels) { return RowsSideBySide(row_channels) * row_channels; }

// Calls `work(block, scratch)` for all blocks, with `scratch_bytes` of memory for each worker.
template <typename Work>
absl::Status ForEachBlock(const Workers& workers, const ChannelPlanes& planes, double element_ns, int64_t scratch_bytes,
                          ScratchKeeper* keeper, const Work& work) {
  const int64_t blocks = planes.num_blocks();
  absl::StatusOr<WorkerScratch> scratch = WorkerScratch::Make(workers, blocks, scratch_bytes, keeper);
  if (!scratch.ok()) return scratch.status();
  const double block_ns = 20 + element_ns * static_cast<double>(planes.block_elements());
  return workers.ForEachShard(blocks, block_ns, [&](int64_t index, int worker) {
    work(planes.BlockOf(index), scratch->of(worker));
    return absl::OkStatus();
  });
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_NORM_CHANNEL_PLANES_H_

#include "kernels/norm/channel_planes.h"

namespace sluice {

ChannelPlanes ChannelPlanes::Of(const Shape& shape, bool channels_second) {
  ChannelPlanes p;
  p.channels_last = !channels_second;
  const int channel = channels_second ? 1 : shape.rank() - 1;
  p.channels = shape.dim(channel);
  p.row_channels = channels_second ? 1 : p.channels;
  // A tensor without elements has no rows, whatever its other sizes are.
  const int64_t elements = shape.num_elements();
  if (elements == 0) return p;
  p.planes = channels_second ? shape.dim(0) * p.channels : 1;
  p.rows = elements / p.planes / p.row_channels;
  return p;
}

ChannelBlockOfRows ChannelPlanes::BlockOf(int64_t index) const {
  const int64_t plane = index / blocks_per_plane();
  const int64_t first_row = index % blocks_per_plane() * block_rows();
  ChannelBlockOfRows block;
  block.index = index;
  block.first_element = (plane * rows + first_row) * row_channels;
  block.first_channel = plane % channels;  // 0 where there is one plane.
  block.rows = std::min(block_rows(), rows - first_row);
  return block;
}

}  // namespace sluice

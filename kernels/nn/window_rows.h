#ifndef SLUICE_KERNELS_NN_WINDOW_ROWS_H_
#define SLUICE_KERNELS_NN_WINDOW_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/nn/conv2d_geometry.h"

namespace sluice {

// Which windows: those of pixels [first, first + count) of the result, of one group of channels.
struct WindowRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t group = 0;
};

// Copies windows of `image` to `rows`, one after the other, window_elements() each; what lies outside of the image is
// zero. Elements are only moved: of any dtype of `element_bytes` whose zero is all bits zero.
void GatherWindows(const Conv2DGeometry& geometry, const WindowRange& range, size_t element_bytes, const void* image,
                   void* rows);

// How many windows to gather at a time, so that they stay in the second-level cache: a multiple of `tile`, which they
// exceed only where a window is large.
int64_t WindowsAtATime(const Conv2DGeometry& geometry, size_t element_bytes, int64_t tile);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_WINDOW_ROWS_H_

#ifndef SLUICE_KERNELS_NN_WINDOW_ROWS_H_
#define SLUICE_KERNELS_NN_WINDOW_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/nn/conv_geometry.h"

namespace sluice {

// Which windows: those of pixels [first, first + count) of the result, of one group of channels; and of each window
// which taps (pixels of the window, in the order of the filter): [first_tap, end_tap).
struct WindowRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t group = 0;
  int64_t first_tap = 0;
  int64_t end_tap = std::numeric_limits<int64_t>::max();
};

// Copies windows of `image` to `rows`, one after the other; what lies outside of the image is zero. Elements are only
// moved: of any dtype of `element_bytes` whose zero is all bits zero.
void GatherWindows(const ConvGeometry& geometry, const WindowRange& range, size_t element_bytes, const void* image,
                   void* rows);

// How many windows to gather at a time, so that they stay in the second-level cache: a multiple of `tile`, which they
// exceed only where a window is large. `elements`: of a window, at least 1.
int64_t WindowsAtATime(int64_t elements, size_t element_bytes, int64_t tile);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_WINDOW_ROWS_H_

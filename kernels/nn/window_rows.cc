#include "kernels/nn/window_rows.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

// Of windows, beside a panel of the filter.
constexpr int64_t kGatheredBytes = 384 << 10;
constexpr int64_t kMaxWindows = 192;

// Where windows come from and how large the steps in the image are, in bytes.
struct Source {
  const char* image;  // The group's first channel of one image.
  size_t pixel;       // From one pixel to the next.
  size_t depth;       // Bytes of a pixel that belong to the group.
};

// Copies one line of a window, which begins at column `left`. Where the next line goes.
char* GatherLine(const SlidingAxis& cols, const Source& source, const char* line, int64_t left, char* row) {
  if (cols.dilation == 1 && source.depth == source.pixel && left >= 0 && left + cols.window <= cols.in) {
    const size_t bytes = static_cast<size_t>(cols.window) * source.pixel;  // In one piece.
    std::memcpy(row, line + static_cast<size_t>(left) * source.pixel, bytes);
    return row + bytes;
  }
  for (int64_t k = 0; k < cols.window; ++k) {
    const int64_t x = left + k * cols.dilation;
    if (x >= 0 && x < cols.in) {
      std::memcpy(row, line + static_cast<size_t>(x) * source.pixel, source.depth);
    } else {
      std::memset(row, 0, source.depth);
    }
    row += source.depth;
  }
  return row;
}

// Copies the window of the result's pixel (y, x).
char* GatherWindow(const Conv2DGeometry& geometry, const Source& source, int64_t y, int64_t x, char* row) {
  const SlidingAxis& rows = geometry.axes[0];
  const SlidingAxis& cols = geometry.axes[1];
  const size_t line_bytes = static_cast<size_t>(cols.window) * source.depth;
  for (int64_t k = 0; k < rows.window; ++k) {
    const int64_t from = y * rows.stride - rows.before + k * rows.dilation;
    if (from < 0 || from >= rows.in) {
      std::memset(row, 0, line_bytes);
      row += line_bytes;
      continue;
    }
    const char* const line = source.image + static_cast<size_t>(from * cols.in) * source.pixel;
    row = GatherLine(cols, source, line, x * cols.stride - cols.before, row);
  }
  return row;
}

}  // namespace

void GatherWindows(const Conv2DGeometry& geometry, const WindowRange& range, size_t element_bytes, const void* image,
                   void* rows) {
  const int64_t width = geometry.axes[1].out;
  const int64_t height = geometry.axes[0].out;
  const size_t pixel = static_cast<size_t>(geometry.channels) * element_bytes;
  const size_t depth = static_cast<size_t>(geometry.group_channels) * element_bytes;
  const size_t image_bytes = static_cast<size_t>(geometry.axes[0].in * geometry.axes[1].in) * pixel;
  char* row = static_cast<char*>(rows);
  for (int64_t i = range.first; i < range.first + range.count; ++i) {
    const int64_t line = i / width;
    const char* const from = static_cast<const char*>(image) + static_cast<size_t>(line / height) * image_bytes;
    const Source source = {from + static_cast<size_t>(range.group) * depth, pixel, depth};
    row = GatherWindow(geometry, source, line % height, i % width, row);
  }
}

int64_t WindowsAtATime(const Conv2DGeometry& geometry, size_t element_bytes, int64_t tile) {
  const int64_t fitting = kGatheredBytes / static_cast<int64_t>(element_bytes) / geometry.window_elements();
  return std::max<int64_t>(1, std::min(fitting, kMaxWindows) / tile) * tile;
}

}  // namespace sluice

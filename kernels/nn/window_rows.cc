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

// A pixel of the result.
struct Place {
  int64_t plane = 0, row = 0, col = 0;
};

// Copies taps [first, end) of one line of a window, one by one. `kDepth`: source.depth where that is known, so that the
// copies are a few moves instead of calls; else 0.
template <size_t kDepth>
char* GatherTaps(const SlidingAxis& cols, const Source& source, const char* line, int64_t left, int64_t first,
                 int64_t end, char* row) {
  const size_t depth = kDepth != 0 ? kDepth : source.depth;
  for (int64_t k = first; k < end; ++k) {
    const int64_t x = left + k * cols.dilation;
    if (x >= 0 && x < cols.in) {
      std::memcpy(row, line + static_cast<size_t>(x) * source.pixel, depth);
    } else {
      std::memset(row, 0, depth);
    }
    row += depth;
  }
  return row;
}

// Copies taps [first, end) of one line of a window, which begins at column `left`. Where the next line goes.
char* GatherLine(const SlidingAxis& cols, const Source& source, const char* line, int64_t left, int64_t first,
                 int64_t end, char* row) {
  if (cols.dilation == 1 && source.depth == source.pixel && left + first >= 0 && left + end <= cols.in) {
    const size_t bytes = static_cast<size_t>(end - first) * source.pixel;  // In one piece.
    std::memcpy(row, line + static_cast<size_t>(left + first) * source.pixel, bytes);
    return row + bytes;
  }
  switch (source.depth) {  // Of a few channels, as groups have them.
    case 4:
      return GatherTaps<4>(cols, source, line, left, first, end, row);
    case 8:
      return GatherTaps<8>(cols, source, line, left, first, end, row);
    case 12:
      return GatherTaps<12>(cols, source, line, left, first, end, row);
    case 16:
      return GatherTaps<16>(cols, source, line, left, first, end, row);
    case 32:
      return GatherTaps<32>(cols, source, line, left, first, end, row);
    case 64:
      return GatherTaps<64>(cols, source, line, left, first, end, row);
    default:
      return GatherTaps<0>(cols, source, line, left, first, end, row);
  }
}

// Copies the taps of the range of the window of the result's pixel `place`.
char* GatherWindow(const ConvGeometry& geometry, const WindowRange& range, const Source& source, const Place& place,
                   char* row) {
  const SlidingAxis& planes = geometry.axes[0];
  const SlidingAxis& rows = geometry.axes[1];
  const SlidingAxis& cols = geometry.axes[2];
  const int64_t left = place.col * cols.stride - cols.before;
  int64_t tap = 0;  // Of the line's first.
  for (int64_t i = 0; i < planes.window; ++i) {
    const int64_t z = place.plane * planes.stride - planes.before + i * planes.dilation;
    for (int64_t k = 0; k < rows.window; ++k, tap += cols.window) {
      if (tap + cols.window <= range.first_tap) continue;
      if (tap >= range.end_tap) return row;
      const int64_t first = std::max<int64_t>(range.first_tap - tap, 0);
      const int64_t end = std::min(range.end_tap - tap, cols.window);
      const int64_t y = place.row * rows.stride - rows.before + k * rows.dilation;
      if (z < 0 || z >= planes.in || y < 0 || y >= rows.in) {
        const size_t bytes = static_cast<size_t>(end - first) * source.depth;
        std::memset(row, 0, bytes);
        row += bytes;
        continue;
      }
      const char* const line = source.image + static_cast<size_t>((z * rows.in + y) * cols.in) * source.pixel;
      row = GatherLine(cols, source, line, left, first, end, row);
    }
  }
  return row;
}

}  // namespace

void GatherWindows(const ConvGeometry& geometry, const WindowRange& range, size_t element_bytes, const void* image,
                   void* rows) {
  const SlidingAxis& cols = geometry.axes[2];
  const int64_t height = geometry.axes[1].out, depth = geometry.axes[0].out;
  const size_t pixel = static_cast<size_t>(geometry.channels) * element_bytes;
  const size_t group_bytes = static_cast<size_t>(geometry.group_channels) * element_bytes;
  const size_t image_bytes = static_cast<size_t>(geometry.axes[0].in * geometry.axes[1].in * cols.in) * pixel;
  char* row = static_cast<char*>(rows);
  int64_t line = range.first / cols.out;
  Place place = {line / height % depth, line % height, range.first % cols.out};
  int64_t item = line / height / depth;
  for (int64_t i = 0; i < range.count; ++i) {
    const char* const from = static_cast<const char*>(image) + static_cast<size_t>(item) * image_bytes;
    const Source source = {from + static_cast<size_t>(range.group) * group_bytes, pixel, group_bytes};
    row = GatherWindow(geometry, range, source, place, row);
    if (++place.col < cols.out) continue;
    place.col = 0;
    if (++place.row < height) continue;
    place.row = 0;
    if (++place.plane < depth) continue;
    place.plane = 0;
    ++item;
  }
}

int64_t WindowsAtATime(int64_t elements, size_t element_bytes, int64_t tile) {
  const int64_t fitting = kGatheredBytes / static_cast<int64_t>(element_bytes) / elements;
  return std::max<int64_t>(1, std::min(fitting, kMaxWindows) / tile) * tile;
}

}  // namespace sluice

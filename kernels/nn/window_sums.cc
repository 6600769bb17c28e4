#include "kernels/nn/window_sums.h"

#include <algorithm>

#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/linalg/gemm.h"
#include "kernels/nn/window_rows.h"

namespace sluice {
namespace {

// Images are cut into so many shards in all, as long as rows that two shards' windows meet are few of a shard's.
constexpr int64_t kMinShards = 16;
constexpr int64_t kSpansOfShard = 4;
// What one core does, for estimates: floating-point operations per nanosecond.
constexpr double kFlopsPerNs = 50;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Of a negative number, too: the largest multiple below.
int64_t FloorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -CeilDiv(-a, b); }

// Taps, or windows, from `begin` to `end` - 1.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// The windows of `axis` that may meet pixels [begin, end) of it.
Range WindowsOver(const SlidingAxis& axis, int64_t begin, int64_t end) {
  const int64_t reach = (axis.window - 1) * axis.dilation;
  const int64_t first = -FloorDiv(-(begin + axis.before - reach), axis.stride);
  const int64_t last = FloorDiv(end - 1 + axis.before, axis.stride);
  return {std::clamp<int64_t>(first, 0, axis.out), std::clamp<int64_t>(last + 1, 0, axis.out)};
}

// The taps of window `window` of `axis` that lie on pixels [begin, end).
Range TapsOn(const SlidingAxis& axis, int64_t window, int64_t begin, int64_t end) {
  const int64_t at = window * axis.stride - axis.before;
  const int64_t first = -FloorDiv(-(begin - at), axis.dilation);
  const int64_t last = FloorDiv(end - 1 - at, axis.dilation);
  return {std::clamp<int64_t>(first, 0, axis.window), std::clamp<int64_t>(last + 1, 0, axis.window)};
}

// How the work is cut. A value type.
struct Cut {
  int64_t bands = 1;      // Of an image.
  int64_t band_rows = 1;  // Of all but the last.
  int64_t pixels = 1;     // At a time.
};

template <typename T>
Cut CutOf(const ConvGeometry& g) {
  const SlidingAxis& rows = g.axes[1];
  const int64_t span = (rows.window - 1) * rows.dilation + 1;
  const int64_t wanted = CeilDiv(kMinShards, g.batch);
  Cut cut;
  cut.band_rows = std::max(CeilDiv(rows.in, wanted), std::min(rows.in, span * kSpansOfShard));
  cut.bands = CeilDiv(rows.in, cut.band_rows);
  cut.pixels =
      std::min(WindowsAtATime(g.window_elements(), sizeof(T), BestGemm<T>().tile_rows), rows.out * g.axes[2].out);
  return cut;
}

template <typename T>
PackedGemm<T> ProductOf(const ConvGeometry& g, int64_t pixels) {
  const int64_t cols = g.window_elements();
  return PackedGemm<T>(BestGemm<T>(), GemmSize{pixels, cols, g.out_channels}, cols);
}

// One shard: rows [first_row, end_row) of the planes of one image. Borrows everything.
template <typename T>
class Band {
 public:
  Band(const ConvGeometry& g, int64_t pixels, int64_t first_row, int64_t end_row, const T* packed)
      : g_(g), pixels_(pixels), first_row_(first_row), end_row_(end_row), packed_(packed) {}

  // `result` and `image`: of the one image.
  void Run(const T* result, T* image, T* scratch, GemmStop stop) const {
    const int64_t image_plane = g_.axes[1].in * g_.axes[2].in * g_.channels;
    const int64_t row = g_.axes[2].in * g_.channels;
    for (int64_t plane = 0; plane < g_.axes[0].in; ++plane) {
      std::fill_n(image + plane * image_plane + first_row_ * row, (end_row_ - first_row_) * row, T{0});
    }
    const Range windows = WindowsOver(g_.axes[1], first_row_, end_row_);
    const int64_t plane_pixels = g_.axes[1].out * g_.axes[2].out;
    for (int64_t plane = 0; plane < g_.axes[0].out; ++plane) {
      const int64_t end = windows.end * g_.axes[2].out;
      for (int64_t first = windows.begin * g_.axes[2].out; first < end && !stop(); first += pixels_) {
        const int64_t count = std::min(pixels_, end - first);
        const T* const from = result + (plane * plane_pixels + first) * g_.out_channels;
        AddPixels(plane, first, count, from, image, scratch, stop);
      }
    }
  }

 private:
  // What pixels [first, first + count) of a plane of the result add.
  void AddPixels(int64_t plane, int64_t first, int64_t count, const T* result, T* image, T* scratch,
                 GemmStop stop) const {
    const int64_t elements = g_.window_elements();
    const PackedGemm<T> product = ProductOf<T>(g_, count);
    T* const windows = scratch + product.scratch_elements();
    product.Run({result, g_.out_channels, false}, packed_, 0, windows, elements, scratch, stop);
    const Range planes = TapsOn(g_.axes[0], plane, 0, g_.axes[0].in);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = (first + i) / g_.axes[2].out, col = (first + i) % g_.axes[2].out;
      for (int64_t tap = planes.begin; tap < planes.end; ++tap) {
        const int64_t at = plane * g_.axes[0].stride - g_.axes[0].before + tap * g_.axes[0].dilation;
        const int64_t plane_taps = g_.axes[1].window * g_.axes[2].window * g_.channels;
        AddWindow(row, col, windows + i * elements + tap * plane_taps,
                  image + at * g_.axes[1].in * g_.axes[2].in * g_.channels);
      }
    }
  }

  // Adds one plane of a window to a plane of the image.
  void AddWindow(int64_t row, int64_t col, const T* window, T* image) const {
    const SlidingAxis& rows = g_.axes[1];
    const SlidingAxis& cols = g_.axes[2];
    const Range row_taps = TapsOn(rows, row, first_row_, end_row_);
    const Range col_taps = TapsOn(cols, col, 0, cols.in);
    // Taps side by side are one run.
    const int64_t runs = cols.dilation == 1 ? 1 : col_taps.end - col_taps.begin;
    const int64_t run = cols.dilation == 1 ? (col_taps.end - col_taps.begin) * g_.channels : g_.channels;
    for (int64_t tap = row_taps.begin; tap < row_taps.end; ++tap) {
      const int64_t image_row = row * rows.stride - rows.before + tap * rows.dilation;
      const int64_t image_col = col * cols.stride - cols.before + col_taps.begin * cols.dilation;
      const T* from = window + (tap * cols.window + col_taps.begin) * g_.channels;
      T* to = image + (image_row * cols.in + image_col) * g_.channels;
      for (int64_t i = 0; i < runs; ++i, from += run, to += cols.dilation * g_.channels) {
        for (int64_t j = 0; j < run; ++j) to[j] += from[j];
      }
    }
  }

  const ConvGeometry& g_;
  const int64_t pixels_;
  const int64_t first_row_, end_row_;
  const T* const packed_;
};

}  // namespace

template <typename T>
bool HasFewChannels(const ConvGeometry& geometry) {
  return geometry.groups == 1 && geometry.channels * 2 <= BestGemm<T>().tile_cols;
}

template <typename T>
int64_t WindowFilterElements(const ConvGeometry& geometry) {
  return PackedGemm<T>::PackedElements(BestGemm<T>(), geometry.out_channels, geometry.window_elements());
}

template <typename T>
void PackWindowFilter(const ConvGeometry& geometry, const T* filter, T* packed) {
  const MatrixView<T> turned = {filter, geometry.out_channels, true};
  PackedGemm<T>::Pack(BestGemm<T>(), turned, geometry.out_channels, geometry.window_elements(), packed);
}

template <typename T>
absl::Status SumWindows(const ConvGeometry& geometry, const T* packed, const T* result, T* image,
                        const Workers& workers, ScratchKeeper* keeper) {
  const ConvGeometry& g = geometry;
  const Cut cut = CutOf<T>(g);
  int64_t bytes = 0;
  if (!CheckedMul(cut.pixels, g.window_elements(), &bytes) ||
      !CheckedAdd(bytes, ProductOf<T>(g, cut.pixels).scratch_elements(), &bytes) ||
      !CheckedMul(bytes, sizeof(T), &bytes)) {
    return Error(ErrorCode::kOutOfMemory).Text("windows of more bytes than can be counted");
  }
  const int64_t shards = g.batch * cut.bands;
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, WorkerScratch::Make(workers, shards, bytes, keeper));
  const int64_t image_elements = g.axes[0].in * g.axes[1].in * g.axes[2].in * g.channels;
  const int64_t result_elements = g.pixels() / g.batch * g.out_channels;
  const double shard_ns = 2.0 * static_cast<double>(result_elements) * static_cast<double>(g.window_elements()) /
                          static_cast<double>(cut.bands) / (kFlopsPerNs * 4 / sizeof(T));
  return workers.ForEachShard(shards, shard_ns, [&](int64_t shard, int worker) {
    const int64_t i = shard / cut.bands, first_row = shard % cut.bands * cut.band_rows;
    const Band<T> band(g, cut.pixels, first_row, std::min(first_row + cut.band_rows, g.axes[1].in), packed);
    bool was_stopped = false;  // Products of a run that must stop end early.
    const auto stop = [&] { return was_stopped = was_stopped || workers.MustStop(); };
    band.Run(result + i * result_elements, image + i * image_elements, static_cast<T*>(scratch.of(worker)), stop);
    return was_stopped ? workers.WhyStopped() : absl::OkStatus();
  });
}

template bool HasFewChannels<float>(const ConvGeometry&);
template bool HasFewChannels<double>(const ConvGeometry&);
template int64_t WindowFilterElements<float>(const ConvGeometry&);
template int64_t WindowFilterElements<double>(const ConvGeometry&);
template void PackWindowFilter(const ConvGeometry&, const float*, float*);
template void PackWindowFilter(const ConvGeometry&, const double*, double*);
template absl::Status SumWindows(const ConvGeometry&, const float*, const float*, float*, const Workers&,
                                 ScratchKeeper*);
template absl::Status SumWindows(const ConvGeometry&, const double*, const double*, double*, const Workers&,
                                 ScratchKeeper*);

}  // namespace sluice

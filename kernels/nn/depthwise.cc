#include "kernels/nn/depthwise.h"

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/linalg/gemm.h"

namespace sluice {
namespace {

// What one core does, for estimates: multiply-adds per nanosecond.
constexpr double kFmasPerNs = 10;
// Channels of a shard of a filter's gradient.
constexpr int64_t kShardChannels = 64;

// The taps that pixel of one axis meets, and where the first of them is on the other side.
struct TapRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t source = 0;

  bool SameTaps(const TapRange& other) const { return first == other.first && count == other.count; }
};

// Of pixel `o` of the result: taps in steps of 1, pixels of the image in steps of the dilation.
TapRange TapsOfResult(const SlidingAxis& axis, int64_t o) {
  const int64_t begin = o * axis.stride - axis.before;
  const int64_t first = begin >= 0 ? 0 : (-begin - 1) / axis.dilation + 1;
  const int64_t end = axis.in <= begin ? 0 : std::min(axis.window, (axis.in - begin - 1) / axis.dilation + 1);
  if (first >= end) return {};
  return {first, end - first, begin + first * axis.dilation};
}

// For pixel `i` of the image: the filter taps (every stride-th) that meet it and the output pixels that use it, in
// descending order.
TapRange TapsOfImage(const SlidingAxis& axis, int64_t i) {
  const int64_t at = i + axis.before;
  int64_t first = at % axis.stride;
  const int64_t last_pixel = (at - first) / axis.stride;  // The result's, for tap `first`.
  const int64_t skipped = std::max<int64_t>(0, last_pixel - (axis.out - 1));
  if (first >= axis.window) return {};
  const int64_t taps = std::min((axis.window - 1 - first) / axis.stride, last_pixel) + 1;
  if (skipped >= taps) return {};
  first += skipped * axis.stride;
  return {first, taps - skipped, last_pixel - skipped};
}

// Calls `run(first, count, taps)` for runs of pixels first, first + step, ... that meet the same taps; `taps` are those
// of the first pixel.
template <typename Taps>
void ForEachRun(int64_t size, int64_t step, const Taps& taps_of,
                absl::FunctionRef<void(int64_t first, int64_t count, const TapRange& taps)> run) {
  for (int64_t start = 0; start < std::min(step, size); ++start) {
    for (int64_t first = start; first < size;) {
      const TapRange taps = taps_of(first);
      int64_t count = 1;
      while (size - first > count * step && taps_of(first + count * step).SameTaps(taps)) ++count;
      run(first, count, taps);
      if (size - first <= count * step) break;
      first += count * step;
    }
  }
}

// Each of `count` elements, `multiplier` times.
template <typename T>
void Widen(const T* from, int64_t count, int64_t multiplier, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t m = 0; m < multiplier; ++m) *to++ = from[i];
  }
}

// Channels [first, first + count) of a pixel that has each channel `multiplier` times.
template <typename T>
void WidenPart(const T* pixel, int64_t first, int64_t count, int64_t multiplier, T* to) {
  const T* from = pixel + first / multiplier;
  int64_t done = first % multiplier;
  for (int64_t i = 0; i < count; ++i) {
    to[i] = *from;
    if (++done < multiplier) continue;
    done = 0;
    ++from;
  }
}

// The result's pixels whose tap is in the image lie side by side: [first, end).
struct PixelRange {
  int64_t first = 0, end = 0;
};

PixelRange PixelsOfTap(const SlidingAxis& axis, int64_t tap) {
  const int64_t outside = axis.before - tap;  // How far outside the first pixel's tap is.
  const int64_t first = outside <= 0 ? 0 : (outside - 1) / axis.stride + 1;
  const int64_t end = outside + axis.in <= 0 ? 0 : std::min((outside + axis.in - 1) / axis.stride + 1, axis.out);
  return {first, std::max(first, end)};
}

// Adds to the taps of one row of a filter's gradient what one row of the image and of the result's gradient give.
// `row`: from a the first pixel of the image, a_pixel its step; from b that of the result; out the first tap.
template <typename T>
void AddRow(const SlidingAxis& cols, const ChannelProducts<T>& row) {
  const auto add = [&cols, &row](int64_t tap, int64_t taps, int64_t first, int64_t end) {
    if (first >= end) return;
    ChannelProducts<T> products = row;
    products.pixels = taps;
    products.cols = end - first;
    products.a = row.a + (first * cols.stride - cols.before + tap) * row.a_pixel;
    products.a_col = products.cols < 2 ? 0 : cols.stride * row.a_pixel;  // Strides may be of any size.
    products.b = row.b + first * row.b_col;
    products.out = row.out + tap * row.out_pixel;
    BestGemm<T>().channels(products);
  };
  // Pixels that all taps use are read once for all of them: the later a tap, the earlier its pixels.
  const int64_t first = PixelsOfTap(cols, 0).first, end = PixelsOfTap(cols, cols.window - 1).end;
  if (first < end) add(0, cols.window, first, end);
  for (int64_t tap = 0; tap < cols.window; ++tap) {
    const PixelRange all = PixelsOfTap(cols, tap);
    add(tap, 1, all.first, first < end ? std::min(first, all.end) : all.end);
    if (first < end) add(tap, 1, std::max(end, all.first), all.end);
  }
}

// Each sum of `multiplier` elements.
template <typename T>
void SumEach(const T* from, int64_t count, int64_t multiplier, T* to) {
  for (int64_t i = 0; i < count; ++i) {
    T sum = *from++;
    for (int64_t m = 1; m < multiplier; ++m) sum += *from++;
    to[i] = sum;
  }
}

}  // namespace

absl::StatusOr<ConvGeometry> ResolveDepthwise(const ConvForm& form, const Shape& image, const Shape& filter) {
  SLUICE_RETURN_IF_ERROR(CheckRank(0, image, form.rank()));
  SLUICE_RETURN_IF_ERROR(CheckRank(1, filter, form.rank()));
  ConvGeometry g;
  g.channels = image.dim(3);
  g.group_channels = 1;
  g.groups = g.channels;
  if (g.channels != filter.dim(2)) {
    return ShapesError(absl::StrCat(image.ToString(), " with filter ", filter.ToString()),
                       "as many channels in the filter as in the image");
  }
  if (!CheckedMul(g.channels, filter.dim(3), &g.out_channels)) {
    return Error(ErrorCode::kOpTooLarge).Input(1).Found(filter.ToString());
  }
  SLUICE_RETURN_IF_ERROR(g.SlideOver(form, image, filter));
  return g;
}

template <typename T>
absl::StatusOr<WorkerScratch> Depthwise<T>::Scratch(int64_t shards, int64_t lines, int64_t per_line) const {
  int64_t bytes = 0;
  if (multiplier() != 1 && (!CheckedMul(lines, per_line, &bytes) || !CheckedMul(bytes, sizeof(T), &bytes))) {
    return Error(ErrorCode::kOutOfMemory).Text("rows of more bytes than can be counted");
  }
  return WorkerScratch::Make(workers_, shards, bytes, keeper_);
}

template <typename T>
double Depthwise<T>::LineNs(int64_t pixels) const {
  return static_cast<double>(pixels) * static_cast<double>(g_.taps()) * static_cast<double>(g_.out_channels) *
         static_cast<double>(sizeof(T)) / 4 / kFmasPerNs;
}

template <typename T>
absl::Status Depthwise<T>::Convolve(const T* image, const T* filter, T* result, const GemmEpilogue<T>* epilogue) const {
  const SlidingAxis& rows = g_.axes[1];
  const SlidingAxis& cols = g_.axes[2];
  const int64_t made = g_.out_channels;
  const int64_t lines = g_.batch * rows.out;
  const bool widens = multiplier() != 1;
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, Scratch(lines, std::min(rows.window, rows.in), cols.in * made));
  return workers_.ForEachShard(lines, LineNs(cols.out), [&](int64_t line, int worker) {
    const TapRange down = TapsOfResult(rows, line % rows.out);
    const T* from = image + (line / rows.out * rows.in + down.source) * cols.in * g_.channels;
    // Steps that are never taken stay 0: dilations and strides may be of any size.
    int64_t row_step = down.count < 2 ? 0 : rows.dilation * cols.in * g_.channels;
    if (widens) {
      T* const wide = static_cast<T*>(scratch.of(worker));
      for (int64_t i = 0; i < down.count; ++i) {
        Widen(from + i * row_step, cols.in * g_.channels, multiplier(), wide + i * cols.in * made);
      }
      from = wide;
      row_step = cols.in * made;
    }
    ChannelProducts<T> products;
    products.channels = made;
    products.rows = down.count;
    products.a_row = row_step;
    products.b_col = products.out_pixel = made;
    products.b_row = cols.window * made;
    const auto taps_of = [&cols](int64_t x) { return TapsOfResult(cols, x); };
    ForEachRun(cols.out, 1, taps_of, [&](int64_t first, int64_t count, const TapRange& across) {
      products.pixels = count;
      products.cols = across.count;
      products.a_pixel = count < 2 || across.count == 0 ? 0 : cols.stride * made;
      products.a_col = across.count < 2 ? 0 : cols.dilation * made;
      products.a = from + across.source * made;
      products.b = filter + (down.first * cols.window + across.first) * made;
      products.out = result + (line * cols.out + first) * made;
      BestGemm<T>().channels(products);
    });
    if (epilogue != nullptr) epilogue->Finish(result + line * cols.out * made, made, cols.out, 0, made);
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status Depthwise<T>::ImageGradient(const T* filter, const T* result, T* image) const {
  const SlidingAxis& rows = g_.axes[1];
  const SlidingAxis& cols = g_.axes[2];
  const int64_t made = g_.out_channels;
  const int64_t lines = g_.batch * rows.in;
  const bool widens = multiplier() != 1;
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, Scratch(lines, cols.in, made));
  return workers_.ForEachShard(lines, LineNs(cols.out), [&](int64_t line, int worker) {
    const TapRange down = TapsOfImage(rows, line % rows.in);
    T* const to = image + line * cols.in * g_.channels;
    T* const sums = widens ? static_cast<T*>(scratch.of(worker)) : to;
    const T* const from = result + (line / rows.in * rows.out + down.source) * cols.out * made;
    ChannelProducts<T> products;
    products.channels = made;
    products.rows = down.count;
    products.a_pixel = made;
    products.a_row = -cols.out * made;
    products.a_col = -made;
    products.b_row = down.count < 2 ? 0 : rows.stride * cols.window * made;
    products.out_pixel = std::min(cols.stride, cols.in) * made;
    const auto taps_of = [&cols](int64_t x) { return TapsOfImage(cols, x); };
    ForEachRun(cols.in, cols.stride, taps_of, [&](int64_t first, int64_t count, const TapRange& across) {
      products.pixels = count;
      products.cols = down.count == 0 ? 0 : across.count;
      products.b_col = across.count < 2 ? 0 : cols.stride * made;
      products.a = from + across.source * made;
      products.b = filter + (down.first * cols.window + across.first) * made;
      products.out = sums + first * made;
      BestGemm<T>().channels(products);
    });
    if (widens) SumEach(sums, cols.in * g_.channels, multiplier(), to);
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status Depthwise<T>::FilterGradient(const T* image, const T* result, T* filter) const {
  const SlidingAxis& rows = g_.axes[1];
  const SlidingAxis& cols = g_.axes[2];
  const int64_t made = g_.out_channels, times = multiplier();
  const int64_t blocks = (made + kShardChannels - 1) / kShardChannels;
  const int64_t shards = rows.window * blocks;
  std::fill_n(filter, g_.taps() * made, T{0});
  SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch, Scratch(shards, cols.in, kShardChannels));
  const double shard_ns = LineNs(g_.pixels()) / static_cast<double>(std::max<int64_t>(1, shards));
  return workers_.ForEachShard(shards, shard_ns, [&](int64_t shard, int worker) -> absl::Status {
    const int64_t channel = shard % blocks * kShardChannels, row_tap = shard / blocks;
    const PixelRange down = PixelsOfTap(rows, row_tap);
    T* const wide = static_cast<T*>(scratch.of(worker));
    ChannelProducts<T> products;
    products.channels = std::min(kShardChannels, made - channel);
    products.b_col = products.out_pixel = made;
    products.out = filter + row_tap * cols.window * made + channel;
    products.accumulate = true;
    for (int64_t i = 0; i < g_.batch; ++i) {
      if (workers_.MustStop()) return workers_.WhyStopped();
      for (int64_t y = down.first; y < down.end; ++y) {
        const int64_t line = i * rows.in + y * rows.stride - rows.before + row_tap;
        products.a = image + line * cols.in * g_.channels + channel;
        products.a_pixel = made;
        if (times != 1) {
          const T* const from = image + line * cols.in * g_.channels;
          for (int64_t x = 0; x < cols.in; ++x) {
            WidenPart(from + x * g_.channels, channel, products.channels, times, wide + x * products.channels);
          }
          products.a = wide;
          products.a_pixel = products.channels;
        }
        products.b = result + (i * rows.out + y) * cols.out * made + channel;
        AddRow(cols, products);
      }
    }
    return absl::OkStatus();
  });
}

template class Depthwise<float>;
template class Depthwise<double>;

}  // namespace sluice

// AdjustContrastv2, AdjustHue, AdjustSaturation: images of floats, in place where nothing else needs them.

#include <algorithm>
#include <cmath>
#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/image/families.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/temp_array.h"

namespace sluice {
namespace {

// Nanoseconds for an element, and for a pixel whose colour is taken apart.
constexpr double kElementNs = 1;
constexpr double kPixelNs = 12;

absl::Status CheckImages(const KernelContext& context) {
  const Tensor& images = context.input(0);
  if (images.rank() >= 3) return absl::OkStatus();
  return ShapeError(0, "images", images.shape(), "at least 3 dimensions");
}

// The number in input 1.
absl::StatusOr<float> ReadNumber(const KernelContext& context, absl::string_view name) {
  const Tensor& tensor = context.input(1);
  if (tensor.rank() == 0) return tensor.flat<float>()[0];
  return ShapeError(1, name, tensor.shape(), "a scalar");
}

// --- Contrast ------------------------------------------------------------------------------------------------------

// `images` images of `pixels` pixels, cut into chunks that do not depend on the threads.
struct Chunks {
  int64_t images, pixels, channels;
  int64_t chunk_pixels, per_image;

  Chunks(int64_t num_images, int64_t num_pixels, int64_t num_channels)
      : images(num_images), pixels(num_pixels), channels(num_channels) {
    chunk_pixels = std::max<int64_t>(64, 16384 / channels);
    per_image = (pixels - 1) / chunk_pixels + 1;
  }
  int64_t size() const { return images * per_image; }
  int64_t begin(int64_t chunk) const { return chunk % per_image * chunk_pixels; }  // In its image.
  int64_t end(int64_t chunk) const { return std::min(pixels, begin(chunk) + chunk_pixels); }
  int64_t first_element(int64_t chunk) const { return (chunk / per_image * pixels + begin(chunk)) * channels; }
};

// Sums of pixels, a channel each.
void SumPixels(const float* from, int64_t pixels, int64_t channels, double* sums) {
  std::fill_n(sums, channels, 0.0);
  if (channels == 3) {
    double red = 0, green = 0, blue = 0;
    for (int64_t i = 0; i < pixels; ++i, from += 3) {
      red += from[0];
      green += from[1];
      blue += from[2];
    }
    sums[0] = red;
    sums[1] = green;
    sums[2] = blue;
    return;
  }
  for (int64_t i = 0; i < pixels; ++i, from += channels) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += from[c];
  }
}

absl::Status ComputeContrast(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckImages(context));
  SLUICE_ASSIGN_OR_RETURN(const float factor, ReadNumber(context, "contrast_factor"));
  const Shape shape = context.input(0).shape();
  const float* const from = context.input(0).flat<float>().data();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
  if (shape.num_elements() == 0) return absl::OkStatus();
  float* const to = output->flat<float>().data();
  const int rank = shape.rank();
  const Chunks chunks(SizeOfAxes(shape, 0, rank - 3), shape.dim(rank - 3) * shape.dim(rank - 2), shape.dim(rank - 1));
  const int64_t channels = chunks.channels;
  SLUICE_ASSIGN_OR_RETURN(TempArray<double> sums, TempArray<double>::Make(context, chunks.size() * channels));
  SLUICE_ASSIGN_OR_RETURN(TempArray<float> means, TempArray<float>::Make(context, chunks.images * channels));
  const double chunk_ns = kElementNs * static_cast<double>(chunks.chunk_pixels * channels);
  context.ParallelFor(chunks.size(), chunk_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      SumPixels(from + chunks.first_element(i), chunks.end(i) - chunks.begin(i), channels, &sums[i * channels]);
    }
  });
  for (int64_t image = 0; image < chunks.images; ++image) {
    double* const first = &sums[image * chunks.per_image * channels];
    for (int64_t i = 1; i < chunks.per_image; ++i) {
      for (int64_t c = 0; c < channels; ++c) first[c] += first[i * channels + c];
    }
    for (int64_t c = 0; c < channels; ++c) {
      means[image * channels + c] = static_cast<float>(first[c] / static_cast<double>(chunks.pixels));
    }
  }
  context.ParallelFor(chunks.size(), chunk_ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* const mean = &means[i / chunks.per_image * channels];
      const int64_t first = chunks.first_element(i);
      const int64_t count = (chunks.end(i) - chunks.begin(i)) * channels;
      for (int64_t k = 0; k < count; k += channels) {
        for (int64_t c = 0; c < channels; ++c) {
          to[first + k + c] = (from[first + k + c] - mean[c]) * factor + mean[c];
        }
      }
    }
  });
  return absl::OkStatus();
}

// --- Hue and saturation --------------------------------------------------------------------------------------------

// A hue of [0, 6), and the least and the greatest of the three colours. The hue lies in the sector of the greatest and
// the second; comparisons with NaN are false, as in TensorFlow.
struct HueRange {
  float hue, low, high;
};

HueRange ToHueRange(float r, float g, float b) {
  float mid, low, high;
  int sector;
  if (r < g) {
    if (b < r) {
      high = g, mid = r, low = b, sector = 1;
    } else if (b > g) {
      high = b, mid = g, low = r, sector = 3;
    } else {
      high = g, mid = b, low = r, sector = 2;
    }
  } else if (b < g) {
    high = r, mid = g, low = b, sector = 0;
  } else if (b > r) {
    high = b, mid = r, low = g, sector = 4;
  } else {
    high = r, mid = b, low = g, sector = 5;
  }
  if (high == low) return {0, low, high};
  const float ratio = (mid - low) / (high - low);
  return {static_cast<float>(sector) + (sector % 2 == 0 ? ratio : 1 - ratio), low, high};
}

void FromHueRange(const HueRange& color, float* out) {
  // Which of low, middle and high each colour is, in each sector.
  static constexpr int kOrder[6][3] = {{2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {0, 1, 2}, {1, 0, 2}, {2, 0, 1}};
  const int sector = color.hue >= 0 && color.hue < 6 ? static_cast<int>(color.hue) : 0;  // NaN: 0.
  float ratio = color.hue - static_cast<float>(sector);
  if (sector % 2 != 0) ratio = 1 - ratio;
  const float values[3] = {color.low, color.low + ratio * (color.high - color.low), color.high};
  for (int c = 0; c < 3; ++c) out[c] = values[kOrder[sector][c]];
}

// Turns the hue by `delta` of a circle.
void TurnHue(const float* from, float delta, float* to) {
  HueRange color = ToHueRange(from[0], from[1], from[2]);
  color.hue += delta * 6.0f;
  if (!(color.hue >= 0 && color.hue < 6)) {
    color.hue -= 6.0f * std::floor(color.hue / 6.0f);
    if (color.hue >= 6) color.hue = 0;  // Rounded up.
  }
  FromHueRange(color, to);
}

// Multiplies the saturation.
void ScaleSaturation(const float* from, float scale, float* to) {
  const float r = from[0], g = from[1], b = from[2];
  const float value = std::max(r, std::max(g, b));
  const float range = value - std::min(r, std::min(g, b));
  const float norm = 1.0f / (6.0f * range);
  float hue = r == value ? norm * (g - b) : g == value ? norm * (b - r) + 2.0f / 6 : norm * (r - g) + 4.0f / 6;
  if (range <= 0) hue = 0;
  if (hue < 0) hue += 1;
  const float saturation = std::min(1.0f, std::max(0.0f, (value > 0 ? range / value : 0.0f) * scale));
  const float chroma = saturation * value, least = value - chroma, place = hue * 6;
  // The two colours that are not the least ones in the sector of the hue.
  static constexpr int kHigh[6] = {0, 1, 1, 2, 2, 0}, kMid[6] = {1, 0, 2, 1, 0, 2};
  to[0] = to[1] = to[2] = least;
  if (!(place >= 0 && place < 6)) return;
  const int sector = static_cast<int>(place);
  const float second = chroma * (1 - std::abs(place - 2.0f * std::floor(place / 2.0f) - 1));
  to[kHigh[sector]] = chroma + least;
  to[kMid[sector]] = second + least;
}

template <void (*kChange)(const float* from, float number, float* to)>
absl::Status ComputePixels(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckImages(context));
  SLUICE_ASSIGN_OR_RETURN(const float number, ReadNumber(context, "delta or scale"));
  const Shape shape = context.input(0).shape();
  if (shape.dim(shape.rank() - 1) != 3) return ShapeError(0, "images", shape, "3 channels");
  const float* const from = context.input(0).flat<float>().data();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
  float* const to = output->flat<float>().data();
  context.ParallelFor(shape.num_elements() / 3, kPixelNs, [&](int64_t begin, int64_t end) {
    for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
      float changed[3];
      kChange(from + i, number, changed);
      std::copy_n(changed, 3, to + i);
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("AdjustContrastv2", &Call<ComputeContrast>).Types("T", {DType::kFloat}),
    KernelRow("AdjustHue", &Call<ComputePixels<&TurnHue>>).Types("T", {DType::kFloat}),
    KernelRow("AdjustSaturation", &Call<ComputePixels<&ScaleSaturation>>).Types("T", {DType::kFloat}),
};

}  // namespace

absl::Span<const KernelRow> AdjustKernels() { return kRows; }

}  // namespace sluice

#include "kernels/image/axis_taps.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/base/status_macros.h"

namespace sluice {
namespace {

int64_t Bound(int64_t i, int64_t size) { return std::min(std::max<int64_t>(i, 0), size - 1); }

// The cubic at a distance of `step`/1024 (`is_far`: and one more) from a pixel.
float CubicWeight(double a, int64_t step, bool is_far) {
  float x = static_cast<float>(static_cast<double>(step) / 1024.0);
  if (!is_far) return static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
  x += 1.0f;
  return static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
}

// Four neighbours of a place; with half-pixel centers those beyond the edge do not count, and the others make up for
// it.
void AddCubicTaps(const ResizeAxis& axis, int64_t i, AxisTaps* taps) {
  const bool keys = axis.half_pixel_centers;
  const double a = keys ? -0.5 : -0.75;
  const float position = axis.Position(i);
  const float floor = std::floor(position);
  const int64_t at = static_cast<int64_t>(floor);
  const int64_t step = std::lrint((position - floor) * 1024.0f);
  float weights[4] = {CubicWeight(a, step, true), CubicWeight(a, step, false), CubicWeight(a, 1024 - step, false),
                      CubicWeight(a, 1024 - step, true)};
  if (keys) {
    float sum = 0;
    for (int64_t k = 0; k < 4; ++k) {
      if (Bound(at - 1 + k, axis.original) != at - 1 + k) weights[k] = 0;
      sum += weights[k];
    }
    if (std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
      const float inverse = 1.0f / sum;
      for (float& weight : weights) weight *= inverse;
    }
  }
  for (int64_t k = 0; k < 4; ++k) taps->Add({Bound(at - 1 + k, axis.original), weights[k]});
}

// The part of pixel [i, i + 1) that lies in [begin, end), which is `scale` long.
float Covered(float i, float begin, float end, float scale) {
  if (i < begin) return i + 1 > end ? scale : i + 1 - begin;
  return i + 1 > end ? end - i : 1.0f;
}

// `kChannels` is 0 where their number is known at run time only.
template <int kChannels>
void MixColumnsOf(const AxisTaps& taps, const float* row, int64_t channels, float* out) {
  const int64_t* const begins = taps.begins();
  const AxisTaps::Tap* const all = taps.taps();
  if constexpr (kChannels > 0) channels = kChannels;
  const int64_t size = taps.size();
  for (int64_t i = 0; i < size; ++i, out += channels) {
    if constexpr (kChannels > 0) {
      float sum[kChannels] = {};
      for (int64_t k = begins[i]; k < begins[i + 1]; ++k) {
        const float* const pixel = row + all[k].index * kChannels;
        for (int c = 0; c < kChannels; ++c) sum[c] += pixel[c] * all[k].weight;
      }
      for (int c = 0; c < kChannels; ++c) out[c] = sum[c];
    } else {
      if (begins[i] == begins[i + 1]) std::fill_n(out, channels, 0.0f);
      for (int64_t k = begins[i]; k < begins[i + 1]; ++k) {
        MixRow(row + all[k].index * channels, all[k].weight, channels, k > begins[i], out);
      }
    }
  }
}

}  // namespace

absl::StatusOr<AxisTaps> AxisTaps::Make(KernelContext& context, int64_t size, int64_t max_taps) {
  AxisTaps made;
  SLUICE_ASSIGN_OR_RETURN(made.begins_, TempArray<int64_t>::Make(context, size + 1));
  SLUICE_ASSIGN_OR_RETURN(made.taps_, TempArray<Tap>::Make(context, max_taps));
  made.begins_[0] = 0;
  return made;
}

Lerp LerpAt(const ResizeAxis& axis, int64_t i) {
  const float position = axis.Position(i);
  const float floor = std::floor(position);
  const int64_t upper = std::min(static_cast<int64_t>(std::ceil(position)), axis.original - 1);
  const int64_t lower = std::min(std::max<int64_t>(static_cast<int64_t>(floor), 0), upper);
  return {lower, upper, position - floor};
}

absl::StatusOr<AxisTaps> AxisTaps::Bilinear(KernelContext& context, const ResizeAxis& axis) {
  SLUICE_ASSIGN_OR_RETURN(AxisTaps taps, Make(context, axis.resized, 2 * axis.resized));
  for (int64_t i = 0; i < axis.resized; ++i) {
    const Lerp lerp = LerpAt(axis, i);
    taps.Add({lerp.lower, 1.0f - lerp.weight});
    taps.Add({lerp.upper, lerp.weight});
    taps.EndPixel();
  }
  return taps;
}

absl::StatusOr<AxisTaps> AxisTaps::Bicubic(KernelContext& context, const ResizeAxis& axis) {
  SLUICE_ASSIGN_OR_RETURN(AxisTaps taps, Make(context, axis.resized, 4 * axis.resized));
  for (int64_t i = 0; i < axis.resized; ++i) {
    AddCubicTaps(axis, i, &taps);
    taps.EndPixel();
  }
  return taps;
}

absl::StatusOr<AxisTaps> AxisTaps::Area(KernelContext& context, const ResizeAxis& axis) {
  const auto range = [&axis](int64_t i, float* begin, float* end) {
    *begin = static_cast<float>(i) * axis.scale;
    *end = static_cast<float>(i + 1) * axis.scale;
  };
  int64_t count = 0;
  float begin, end;
  for (int64_t i = 0; i < axis.resized; ++i) {
    range(i, &begin, &end);
    count += std::max<int64_t>(1, static_cast<int64_t>(std::ceil(end)) - static_cast<int64_t>(std::floor(begin)));
  }
  SLUICE_ASSIGN_OR_RETURN(AxisTaps taps, Make(context, axis.resized, count));
  for (int64_t i = 0; i < axis.resized; ++i) {
    range(i, &begin, &end);
    const int64_t first = static_cast<int64_t>(std::floor(begin));
    const int64_t last = std::max(first + 1, static_cast<int64_t>(std::ceil(end)));
    for (int64_t k = first; k < last; ++k) {
      taps.Add({Bound(k, axis.original), Covered(static_cast<float>(k), begin, end, axis.scale)});
    }
    taps.EndPixel();
  }
  return taps;
}

absl::StatusOr<AxisTaps> AxisTaps::Transposed(KernelContext& context, int64_t size) const {
  SLUICE_ASSIGN_OR_RETURN(AxisTaps made, Make(context, size, count_));
  int64_t* const begins = made.begins_.data();
  std::fill_n(begins, size + 1, 0);
  const Tap* const all = taps();
  for (int64_t k = 0; k < count_; ++k) ++begins[all[k].index + 1];
  for (int64_t i = 0; i < size; ++i) begins[i + 1] += begins[i];
  // Each begin moves to its pixel's end while that is filled, and all move back by one place at last.
  Tap* const out = made.taps_.data();
  for (int64_t i = 0; i < this->size(); ++i) {
    for (int64_t k = this->begins()[i]; k < this->begins()[i + 1]; ++k) {
      out[begins[all[k].index]++] = {i, all[k].weight};
    }
  }
  for (int64_t i = size; i > 0; --i) begins[i] = begins[i - 1];
  begins[0] = 0;
  made.pixels_ = size;
  made.count_ = count_;
  return made;
}

void MixRow(const float* row, float weight, int64_t n, bool accumulate, float* out) {
  if (accumulate) {
    for (int64_t i = 0; i < n; ++i) out[i] += row[i] * weight;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = row[i] * weight;
  }
}

void MixColumns(const AxisTaps& taps, const float* row, int64_t channels, float* out) {
  switch (channels) {
    case 1:
      return MixColumnsOf<1>(taps, row, channels, out);
    case 3:
      return MixColumnsOf<3>(taps, row, channels, out);
    case 4:
      return MixColumnsOf<4>(taps, row, channels, out);
    default:
      return MixColumnsOf<0>(taps, row, channels, out);
  }
}

}  // namespace sluice

#ifndef SLUICE_KERNELS_IMAGE_AXIS_TAPS_H_
#define SLUICE_KERNELS_IMAGE_AXIS_TAPS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/image/resize_geometry.h"
#include "kernels/kernel_context.h"
#include "kernels/temp_array.h"

namespace sluice {

// Which pixels of one axis go into each pixel of another, and with which weights: pixel i is the sum of
// weight(k) * pixel index(k) for begin(i) <= k < begin(i + 1). A table in memory of the context. Read by any thread.
class AxisTaps {
 public:
  struct Tap {
    int64_t index;
    float weight;
  };

  static absl::StatusOr<AxisTaps> Bilinear(KernelContext& context, const ResizeAxis& axis);
  // Cubic convolution, with weights for 1,024 places between two pixels.
  static absl::StatusOr<AxisTaps> Bicubic(KernelContext& context, const ResizeAxis& axis);
  // All pixels that a resized pixel covers, by the part that it covers.
  static absl::StatusOr<AxisTaps> Area(KernelContext& context, const ResizeAxis& axis);
  // For `size` pixels, `max_taps` in all, added in order.
  static absl::StatusOr<AxisTaps> Make(KernelContext& context, int64_t size, int64_t max_taps);

  // The way back: which pixels take something from each of `size` pixels.
  absl::StatusOr<AxisTaps> Transposed(KernelContext& context, int64_t size) const;

  // REQUIRES: as many as Make said.
  void Add(const Tap& tap) { taps_[count_++] = tap; }
  // Multiplies the weights that were added since, or forgets them.
  void ScalePixel(float factor) {
    for (int64_t k = begins_[pixels_]; k < count_; ++k) taps_[k].weight *= factor;
  }
  void DropPixel() { count_ = begins_[pixels_]; }
  // The taps added since belong to the next pixel.
  void EndPixel() { begins_[++pixels_] = count_; }

  int64_t size() const { return begins_.size() - 1; }
  int64_t num_taps() const { return count_; }
  const int64_t* begins() const { return begins_.data(); }
  const Tap* taps() const { return taps_.data(); }

 private:
  TempArray<int64_t> begins_;
  TempArray<Tap> taps_;
  int64_t pixels_ = 0;
  int64_t count_ = 0;
};

// One place between two pixels. Plain data.
struct Lerp {
  int64_t lower;
  int64_t upper;
  float weight;  // Of the upper one.
};
Lerp LerpAt(const ResizeAxis& axis, int64_t i);

// out[i] = the taps' sum over pixels of `channels` elements in `row`.
void MixColumns(const AxisTaps& taps, const float* row, int64_t channels, float* out);
// out[i] = weight * row[i], or += with `accumulate`.
void MixRow(const float* row, float weight, int64_t n, bool accumulate, float* out);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IMAGE_AXIS_TAPS_H_

#ifndef SLUICE_KERNELS_NN_DEPTHWISE_H_
#define SLUICE_KERNELS_NN_DEPTHWISE_H_

// Note [Depthwise convolutions]
// Each channel is convolved for itself, with `multiplier` filters. There is nothing to gather: a pixel of a result is a
// sum of products of pixels and taps, channel by channel, which ChannelProducts makes with vectors along the channels,
// where they lie. Runs of pixels in a row that meet the same taps are one call. The same holds for the gradients: that
// of an image sums over the taps that meet a pixel (every stride-th one, backwards), that of the filter over the pixels
// of a row. Where the multiplier is not 1, rows of the image are widened first, each channel `multiplier` times, so
// that the loops stay the same. Sums do not depend on how the work is cut: the same bits for any number of threads.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/linalg/gemm.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {

// The depthwise convolution of an image [batch, rows, columns, channels] with a filter [rows, columns, channels,
// multiplier]: groups are channels, out_channels are channels * multiplier. Either may be empty. kOpShape, kOpShapes,
// kOpTooLarge.
absl::StatusOr<ConvGeometry> ResolveDepthwise(const ConvForm& form, const Shape& image, const Shape& filter);

// One call of these kernels on one geometry. Borrows everything. T is float or double.
template <typename T>
class Depthwise {
 public:
  // `keeper` may be null. REQUIRES: ResolveDepthwise's; no dilation in the gradients.
  Depthwise(const ConvGeometry& geometry, const Workers& workers, ScratchKeeper* keeper)
      : g_(geometry), workers_(workers), keeper_(keeper) {}

  // Each fills the last pointer's elements; there is one at least. kOutOfMemory, kRunCancelled, kDeadline.
  // `epilogue` (may be null) is called for each row of the result, while that is in the cache.
  absl::Status Convolve(const T* image, const T* filter, T* result, const GemmEpilogue<T>* epilogue = nullptr) const;
  absl::Status ImageGradient(const T* filter, const T* result, T* image) const;
  absl::Status FilterGradient(const T* image, const T* result, T* filter) const;

 private:
  int64_t multiplier() const { return g_.channels == 0 ? 0 : g_.out_channels / g_.channels; }
  // `per_line` elements for each worker.
  absl::StatusOr<WorkerScratch> Scratch(int64_t shards, int64_t lines, int64_t per_line) const;
  double LineNs(int64_t pixels) const;

  const ConvGeometry& g_;
  const Workers& workers_;
  ScratchKeeper* const keeper_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_DEPTHWISE_H_

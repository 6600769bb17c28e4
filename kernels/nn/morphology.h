#ifndef SLUICE_KERNELS_NN_MORPHOLOGY_H_
#define SLUICE_KERNELS_NN_MORPHOLOGY_H_

// Note [Greyscale dilation]
// An element of the result is the largest sum of an element of the window and one of the filter, channel by channel;
// it begins as the lowest finite value, which -inf and NaN do not exceed. In the gradients all goes to the first place
// of the largest sum, and where no sum exceeds the lowest value to the first tap, and the window's first pixel in the
// image, as in TensorFlow.
// Four types are instantiated. Half and bfloat16 are computed as floats, and rounded after each addition where that
// decides between two places. Small integers stand in the upper bits of wider ones, unsigned ones of the image with the
// top bit turned, so that sums wrap around where theirs would, and are compared as signed numbers.

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"
#include "kernels/nn/conv_geometry.h"

namespace sluice {

// `tensor`, of any real dtype, as floats, doubles, int32 or int64, see the note. `turns` for images and results.
absl::StatusOr<Tensor> WidenForDilation(const Tensor& tensor, bool turns, Allocator& allocator);
// The reverse, into `to`.
void NarrowFromDilation(const Tensor& wide, bool turned, Tensor* to);

// The sizes of a dilation. Uses the axes, batch and channels of ConvGeometry. A value type; T is float, double, int32_t
// or int64_t. `lowest` is what results begin with.
template <typename T>
class Dilation {
 public:
  // `rounded`: half or bfloat16 where the floats stand for these, or any other dtype.
  Dilation(const ConvGeometry& geometry, const T* image, const T* filter, T lowest, DType rounded)
      : g_(geometry), image_(image), filter_(filter), lowest_(lowest), rounded_(rounded) {}

  void Run(const KernelContext& context, T* result) const;
  // Adds to `sums`, which are zeros of the image's (of the filter's) shape, what `gradient` of the result's gives.
  void AddToImage(const KernelContext& context, const T* gradient, T* sums) const;
  void AddToFilter(const KernelContext& context, const T* gradient, T* sums) const;

 private:
  // Channels at a time.
  static constexpr int64_t kBlock = 64;

  // For channels [channel, channel + count) of one pixel of the result the first place of the largest sum: element of
  // the image (of the filter) without the channel, -1 for one outside of it.
  struct Places {
    int64_t in_image[kBlock];
    int64_t in_filter[kBlock];
  };
  void FindPlaces(int64_t pixel, int64_t channel, int64_t count, Places* places) const;
  void AddTo(const KernelContext& context, bool to_image, const T* gradient, T* sums) const;
  double PixelNs(int64_t channels) const;

  const ConvGeometry& g_;
  const T* const image_;
  const T* const filter_;
  const T lowest_;
  const DType rounded_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_MORPHOLOGY_H_

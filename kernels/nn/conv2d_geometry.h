#ifndef SLUICE_KERNELS_NN_CONV2D_GEOMETRY_H_
#define SLUICE_KERNELS_NN_CONV2D_GEOMETRY_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/shape.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// How a window slides along one axis of an image.
struct WindowAxis {
  enum class Padding { kSame, kValid, kExplicit };

  Padding padding = Padding::kValid;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // Zeros added, where the padding is explicit.
  int64_t after = 0;
};

// The attrs of a convolution of images in NHWC order. A value type.
struct Conv2DForm {
  std::array<WindowAxis, 2> axes;  // Rows, columns.

  // kOpAttr for lists of other lengths or sizes below 1 (0 for paddings), kOpUnimplemented for another data format and
  // for strides over the batch or the channels.
  static absl::StatusOr<Conv2DForm> Read(const KernelConstruction& construction);
};

// One axis of an image, of the window, and of the result.
struct SlidingAxis {
  int64_t in = 0;
  int64_t window = 0;
  int64_t out = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // Zeros before the image.
};

// A convolution of given sizes. A value type. Each group of `group_channels` channels of the image gives
// out_channels / groups channels of the result.
struct Conv2DGeometry {
  int64_t batch = 0;
  std::array<SlidingAxis, 2> axes;
  int64_t channels = 0;
  int64_t group_channels = 0;
  int64_t groups = 1;
  int64_t out_channels = 0;
  Shape output;

  // Rows of the product that it comes to: pixels of the result. Its columns are the channels of a group of the result.
  int64_t pixels() const { return batch * axes[0].out * axes[1].out; }
  // Elements of a window in one group: the depth of the product.
  int64_t window_elements() const { return axes[0].window * axes[1].window * group_channels; }
  // Whether each pixel of the result is made of one of the image, at the same place.
  bool IsPointwise() const;

  // kOpShape, kOpShapes, kOpTooLarge when image and filter do not make one.
  static absl::StatusOr<Conv2DGeometry> Resolve(const Conv2DForm& form, const Shape& image, const Shape& filter);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_CONV2D_GEOMETRY_H_

#ifndef SLUICE_KERNELS_IMAGE_RESIZE_GEOMETRY_H_
#define SLUICE_KERNELS_IMAGE_RESIZE_GEOMETRY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/shape.h"
#include "kernels/array/index_values.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The height and the width in input `input`, called `name`, both at least `least`. kOpShape, kOpValue.
absl::StatusOr<IndexVector> ReadHeightAndWidth(const KernelContext& context, int input, absl::string_view name,
                                               int64_t least = 1);

// Where the pixels of a resized image lie in the original. A value type.
struct ResizeForm {
  bool align_corners = false;
  bool half_pixel_centers = false;

  // kOpAttr when both are set.
  static absl::StatusOr<ResizeForm> Read(const KernelConstruction& construction);
};

// One axis: pixel i of `resized` comes from around Position(i) of `original`. A value type.
struct ResizeAxis {
  int64_t original = 0;
  int64_t resized = 0;
  float scale = 1;  // Original pixels in a resized one.
  bool half_pixel_centers = false;

  float Position(int64_t i) const {
    const float x = static_cast<float>(i);
    return half_pixel_centers ? (x + 0.5f) * scale - 0.5f : x * scale;
  }
  // The pixel that stands for pixel i where none are mixed.
  int64_t Nearest(int64_t i, bool align_corners) const;
};
ResizeAxis MakeResizeAxis(const ResizeForm& form, int64_t original, int64_t resized);

// The sizes of one call. A value type.
struct ResizeGeometry {
  int64_t batch = 0;
  int64_t channels = 0;
  ResizeAxis y;
  ResizeAxis x;
  Shape resized;  // [batch, y.resized, x.resized, channels]

  int64_t resized_rows() const { return batch * y.resized; }
  int64_t original_rows() const { return batch * y.original; }
  // Elements of a row.
  int64_t original_width() const { return x.original * channels; }
  int64_t resized_width() const { return x.resized * channels; }
};

// For images in input 0 that get the height and width in input 1. kOpShape, kOpValue, kOpTooLarge.
absl::StatusOr<ResizeGeometry> ResolveResize(const KernelContext& context, const ResizeForm& form);
// For the gradient of resized images in input 0, and the original images in input 1 (only their height and width are
// used); `original` is the shape of the result.
absl::StatusOr<ResizeGeometry> ResolveResizeGrad(const KernelContext& context, const ResizeForm& form, Shape* original);
// The same without scales, which do not follow from the sizes.
absl::StatusOr<ResizeGeometry> ResolveSampledGrad(const KernelContext& context, Shape* original);
// For the gradient of resized images in input 0, and the height and width of the original ones in input 1.
absl::StatusOr<ResizeGeometry> ResolveSizedResizeGrad(const KernelContext& context, const ResizeForm& form,
                                                      Shape* original);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IMAGE_RESIZE_GEOMETRY_H_

#ifndef SLUICE_KERNELS_POOL_POOL_GEOMETRY_H_
#define SLUICE_KERNELS_POOL_POOL_GEOMETRY_H_

// How windows slide over images (two axes) and volumes (three).

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/value/shape.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The attrs of a pooling op. Lists are in the order batch, axes, channels, whatever the data format. A value type.
struct PoolForm {
  enum class Padding { kSame, kValid, kExplicit };

  int num_axes = 2;
  bool channels_second = false;
  // As in TensorFlow's forward kernels for volumes: where strides under SAME leave elements out, half of them are left
  // out at the beginning (elsewhere all at the end).
  bool skips_at_beginning = false;
  Padding padding = Padding::kValid;
  std::array<int64_t, 5> window{};
  std::array<int64_t, 5> stride{};
  std::array<int64_t, 5> before{};  // Padding, where it is explicit.
  std::array<int64_t, 5> after{};

  int rank() const { return num_axes + 2; }
  // Whether windows cover several channels.
  bool IsOverChannels() const { return window[static_cast<size_t>(num_axes) + 1] > 1; }

  // All attrs, but for window and strides where the op has them as inputs. kOpAttr for values that are out of range,
  // kOpUnimplemented for windows over the batch.
  static absl::StatusOr<PoolForm> Read(const KernelConstruction& construction);
  // The same, and kOpUnimplemented for windows over the channels.
  static absl::StatusOr<PoolForm> ReadSpatial(const KernelConstruction& construction);
  // This form with window and strides from inputs `input` and `input` + 1. kOpValue for bad values.
  absl::StatusOr<PoolForm> WithInputs(const KernelContext& context, int input) const;
  // kOpUnimplemented where windows or strides are over channels.
  absl::Status CheckSpatial() const;
};

// Positions [begin, end) along an axis.
struct PoolSpan {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// One axis of an image and of the result.
struct PoolAxis {
  int64_t in = 1;
  int64_t out = 1;
  int64_t window = 1;
  int64_t stride = 1;
  int64_t before = 0;  // Padding before the image; negative where elements are left out there.
  // Fractional pooling: where windows begin, out + 1 places that ascend, in place of the stride. Each window ends
  // `overlap` elements after the next one begins.
  const int64_t* bounds = nullptr;
  int64_t overlap = 0;

  // The part of window `o` that is in the image. Never empty unless the image is.
  PoolSpan SpanOf(int64_t o) const {
    if (bounds != nullptr) return {bounds[o], std::min(bounds[o + 1], in - overlap) + overlap};
    const int64_t begin = o * stride - before;
    return {std::max<int64_t>(begin, 0), std::min(begin + window, in)};
  }
};

// Pooling of given sizes: images of three axes (the first is 1 where there are two), channels last. With the channels
// second in the tensors each of them is an image. A value type.
struct PoolGeometry {
  int64_t images = 0;
  std::array<PoolAxis, 3> axes;
  int64_t channels = 0;
  Shape output;

  int64_t image_pixels() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t output_pixels() const { return axes[0].out * axes[1].out * axes[2].out; }
  // Rows of the result, of axes[2].out pixels each.
  int64_t output_rows() const { return images * axes[0].out * axes[1].out; }

  // kOpShape, kOpTooLarge where the images of shape `image`, found in input `input`, cannot be pooled.
  static absl::StatusOr<PoolGeometry> Resolve(const PoolForm& form, const Shape& image, int input);
};

// Windows of one row of the result.
struct PoolRow {
  int64_t image;
  PoolSpan spans[2];  // Along axes 0 and 1.
};
PoolRow RowOf(const PoolGeometry& geometry, int64_t row);

// kOpShape unless input `input` is of shape `expected`.
absl::Status CheckPoolShape(const KernelContext& context, int input, const Shape& expected);

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_POOL_GEOMETRY_H_

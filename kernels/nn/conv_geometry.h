#ifndef SLUICE_KERNELS_NN_CONV_GEOMETRY_H_
#define SLUICE_KERNELS_NN_CONV_GEOMETRY_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/error_code.h"
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

// One axis of an image, of the window, and of the result.
struct SlidingAxis {
  int64_t in = 1;
  int64_t window = 1;
  int64_t out = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  // Zeros before the image. Negative: the first window begins so far inside of it.
};

// List attr `name`: for each of `rank` dimensions a number that fits int32, 1 for batch and channels, 1 or more for the
// others. kOpAttr for lists of other lengths and larger numbers, `batch_code` for what is not 1 and must be, then
// `small_code` for numbers below 1.
absl::StatusOr<std::vector<int64_t>> ReadPerDimension(const KernelConstruction& construction, absl::string_view name,
                                                      int rank, ErrorCode batch_code,
                                                      ErrorCode small_code = ErrorCode::kOpAttr);

// Fills all but `in` and `window` of `axis`, as TensorFlow counts: division is towards zero, so that a window that is
// somewhat too large gives no result and one that is larger a negative number of them. False when the sizes cannot be
// counted.
bool SlideWindow(const WindowAxis& form, SlidingAxis* axis);

// What the kernels of an op accept, and the codes of their refusals: those of TensorFlow's kernels for the CPU.
struct ConvRules {
  int spaces = 2;                                          // 2: images, 3: volumes.
  ErrorCode format = ErrorCode::kOpUnimplemented;          // Channels that do not come last.
  ErrorCode batch_stride = ErrorCode::kOpUnimplemented;    // A stride over the batch or the channels.
  ErrorCode batch_dilation = ErrorCode::kOpUnimplemented;  // A dilation of the batch or the channels.
  ErrorCode dilation = ErrorCode::kOpUnimplemented;        // Any dilation, unless `dilates`.
  bool dilates = true;
  bool equal_strides = false;  // Rows and columns must have the same stride.
  bool groups = true;          // The filter may have fewer channels than the image.
  bool centres = false;        // See ConvForm.
};

// The rules for a convolution of images as TensorFlow for Linux has them: it runs float and bfloat16 in oneDNN, whose
// codes differ from those of its own kernels (`rules`) and for which strides need not be equal.
ConvRules RulesForType(ConvRules rules, const KernelConstruction& construction, bool is_gradient);

// The attrs of a convolution of images (NHWC) or volumes (NDHWC). A value type.
struct ConvForm {
  int spaces = 2;
  bool groups = true;
  // As in TensorFlow's forward kernels for volumes: windows of SAME that leave elements out, since a stride is larger
  // than they are, leave out as many before them as after them (elsewhere all come after).
  bool centres = false;
  // Planes, rows, columns. Images have one plane, over which nothing slides.
  std::array<WindowAxis, 3> axes;

  int rank() const { return spaces + 2; }
  // The axis of `axes` for dimension `i` of a filter, dimension i + 1 of an image.
  size_t AxisOf(int i) const { return static_cast<size_t>(3 - spaces + i); }

  // kOpAttr for lists of other lengths or sizes below 1 (0 for paddings), the codes of `rules` for what they exclude.
  static absl::StatusOr<ConvForm> Read(const KernelConstruction& construction, const ConvRules& rules);
};

// A convolution of given sizes. A value type. Each group of `group_channels` channels of the image gives
// out_channels / groups channels of the result.
struct ConvGeometry {
  int64_t batch = 0;
  std::array<SlidingAxis, 3> axes;  // As in ConvForm.
  int64_t channels = 0;
  int64_t group_channels = 0;
  int64_t groups = 1;
  int64_t out_channels = 0;
  Shape output;

  // Rows of the product that it comes to: pixels of the result. Its columns are the channels of a group of the result.
  int64_t pixels() const { return batch * axes[0].out * axes[1].out * axes[2].out; }
  // Pixels of a window.
  int64_t taps() const { return axes[0].window * axes[1].window * axes[2].window; }
  // Elements of a window in one group: the depth of the product.
  int64_t window_elements() const { return taps() * group_channels; }
  // Whether each pixel of the result is made of one of the image, at the same place.
  bool IsPointwise() const;

  // Fills batch, axes and output from the attrs and the shapes. kOpShapes when a window does not fit, kOpTooLarge.
  // REQUIRES: ranks as the form says, out_channels.
  absl::Status SlideOver(const ConvForm& form, const Shape& image, const Shape& filter);

  // The convolution of inputs 0 and 1: kOpShape, kOpShapes, kOpTooLarge when they do not make one.
  static absl::StatusOr<ConvGeometry> Resolve(const ConvForm& form, const Shape& image, const Shape& filter);
  // The convolution whose result has the shape of `result` (input 2 of the op); a filter without elements is accepted,
  // groups are not. The same errors.
  static absl::StatusOr<ConvGeometry> ResolveGradient(const ConvForm& form, const Shape& image, const Shape& filter,
                                                      const Shape& result);
};

// kOpShape unless `shape`, of input `input`, has `rank` dimensions.
absl::Status CheckRank(int input, const Shape& shape, int rank);
// kOpShapes unless `result`, of input 2, is what `geometry` gives.
absl::Status CheckResult(const ConvGeometry& geometry, const Shape& result);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_CONV_GEOMETRY_H_

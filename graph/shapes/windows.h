#ifndef SLUICE_GRAPH_SHAPES_WINDOWS_H_
#define SLUICE_GRAPH_SHAPES_WINDOWS_H_

// Windows that slide over the spatial dimensions of an image: convolution, pooling, patches.

#include <cstdint>
#include <vector>

#include "graph/shapes/inference_context.h"

namespace sluice {

// Where the batch, channel and spatial dimensions of an image tensor stand.
struct ImageLayout {
  int rank = 4;
  int channel = 3;
  int first_space = 1;  // The spatial dimensions stand side by side.

  int spaces() const { return rank - 2; }
};

// The layout attr data_format names for `rank` dimensions. False for formats that we do not lay out (NCHW_VECT_C).
bool ReadLayout(const InferenceContext& c, int rank, ImageLayout* layout);

// The size that a window of `window` elements, `dilation` apart, gives along a dimension of `size` elements, `before`
// + `after` zeros added. TensorFlow's kernels divide towards zero, so a window somewhat too large gives 0. Unknown when
// an operand is; *negative is set when the kernel would refuse.
int64_t WindowedSize(int64_t size, int64_t window, int64_t dilation, int64_t stride, absl::string_view padding,
                     int64_t both_paddings, bool* negative);

// Reads list attr `name`. kAttrValue unless it has `length` entries that are all positive; an absent or empty attr is
// all ones when `optional`.
absl::Status ReadWindowAttr(const InferenceContext& c, absl::string_view name, int length, bool optional,
                            std::vector<int64_t>* values);

// Reads explicit_paddings: both sides added up, per dimension. kAttrValue unless it is given when, and only when,
// padding is EXPLICIT, with two entries per dimension that are not negative.
absl::Status ReadExplicitPaddings(const InferenceContext& c, int rank, std::vector<int64_t>* sums);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_WINDOWS_H_

#ifndef SLUICE_KERNELS_NN_FILTER_GRADIENT_H_
#define SLUICE_KERNELS_NN_FILTER_GRADIENT_H_

// Note [Gradients of filters]
// The gradient of a filter is the product of the windows (Note [Convolution by products]), turned on their side, with
// the gradient of the result: its depth is the number of pixels. Nothing is gathered for it: what a tap, or a line of
// taps side by side, meets in the windows of a row of pixels lies in the image in steps of the stride, and the rows of
// a block of pixels are as many runs of one product (TileRuns). Only where windows reach into the padding such a strip
// of the image is copied, with zeros around it. The columns of the result's gradient are packed once for all taps. A
// shard makes a part of the filter - some taps, some channels made - from a chunk of the blocks. Where a filter has too
// few parts for many threads there are several chunks, whose sums stand beside the filter and are added up in their
// order. How the work is cut depends on sizes alone, so the bits are the same for any number of threads.

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {

// Fills `filter` with the gradient of the filter of the convolution `geometry` (without groups) of `image`, whose
// result has the gradient `result`. REQUIRES: none of them is empty. T is float or double. kOutOfMemory, kRunCancelled,
// kDeadline.
template <typename T>
absl::Status FilterGradient(const ConvGeometry& geometry, const T* image, const T* result, T* filter,
                            const Workers& workers, ScratchKeeper* keeper);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_FILTER_GRADIENT_H_

#ifndef SLUICE_KERNELS_NN_WINDOW_SUMS_H_
#define SLUICE_KERNELS_NN_WINDOW_SUMS_H_

// Note [Sums of windows]
// The gradient of an image of few channels (pictures: one or three) the other way round: the gradient of each pixel of
// the result, times the filter read as one matrix of all taps and channels, is what its window adds to the image. The
// product has as many columns as a window has elements, where a phase of Note [Gradients of images] would fill a small
// part of a tile's with the image's channels. A shard makes some rows of one image: it multiplies all pixels whose
// windows meet these rows, some at a time, and adds of each window the rows that are its own, in the order of the
// pixels. How the work is cut depends on sizes alone, so the bits are the same for any number of threads.

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {

// Whether this way is the faster one. T is float or double.
template <typename T>
bool HasFewChannels(const ConvGeometry& geometry);

// The filter for SumWindows: elements, and how it is packed from its form in the graph.
template <typename T>
int64_t WindowFilterElements(const ConvGeometry& geometry);
template <typename T>
void PackWindowFilter(const ConvGeometry& geometry, const T* filter, T* packed);

// Fills `image` with the gradient of the image of the convolution `geometry` (without groups), whose result has the
// gradient `result`. REQUIRES: none of them is empty. kOutOfMemory, kRunCancelled, kDeadline.
template <typename T>
absl::Status SumWindows(const ConvGeometry& geometry, const T* packed, const T* result, T* image,
                        const Workers& workers, ScratchKeeper* keeper);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_WINDOW_SUMS_H_

#ifndef SLUICE_KERNELS_NN_CONVOLUTION_H_
#define SLUICE_KERNELS_NN_CONVOLUTION_H_

// Note [Convolution by products]
// A convolution is a product of matrices: a row of A holds the elements of one window (a pixel of the result), B is the
// filter, C the result. Only as many rows of A as fit the second-level cache exist at a time: a shard gathers them into
// its worker's scratch memory and multiplies them by the packed filter, which all workers share. Bias and activation
// follow while the shard's part of C is in the cache. Where windows are single pixels the image is A itself.
// An element of C does not depend on the rows beside it, so results are the same bits for any number of threads.
// Volumes are images of several planes. The gradients are products of the same windows: see Note [Gradients of images]
// in image_gradient.h and Note [Gradients of filters] in filter_gradient.h.

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/packed_matrix.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {

// Which pixels of a larger image a convolution makes: of planes, rows and columns `first`, first + step, ... A result
// without a grid is the whole image.
struct PixelGrid {
  std::array<int64_t, 3> size = {1, 1, 1};  // Of the larger image.
  std::array<int64_t, 3> first = {0, 0, 0};
  std::array<int64_t, 3> step = {1, 1, 1};

  // The pixel of the larger image for pixel `i` of `geometry`'s result.
  int64_t PixelAt(const ConvGeometry& geometry, int64_t i) const;
};

// One convolution of an image with a packed filter; see Note [Convolution by products]. Borrows everything. T is float
// or double.
template <typename T>
class Convolution {
 public:
  // `filter`: packed as LayoutOf(geometry), group after group. `epilogue` and `grid` may be null.
  Convolution(const ConvGeometry& geometry, const T* image, const T* filter, T* output, const GemmEpilogue<T>* epilogue,
              const PixelGrid* grid = nullptr);

  // How a filter is packed: groups of columns, each for itself.
  static PackedLayout LayoutOf(const ConvGeometry& geometry);

  // Fills the output. kOutOfMemory when there is no scratch memory; kRunCancelled, kDeadline. `keeper` may be null.
  absl::Status Run(const Workers& workers, ScratchKeeper* keeper) const;

 private:
  // Pixels [first, first + count) of the result.
  void RunPixels(int64_t first, int64_t count, T* scratch, GemmStop stop) const;

  const ConvGeometry& geometry_;
  const T* const image_;
  const T* const filter_;
  T* const output_;
  const GemmEpilogue<T>* const epilogue_;
  const PixelGrid* const grid_;
  const bool gathers_;
  const int64_t shard_pixels_;  // Of each shard but the last.
};

// The same for int32, whose sums wrap around, with the filter as it lies in memory: simple loops.
absl::Status ConvolveInts(const ConvGeometry& geometry, const int32_t* image, const int32_t* filter, int32_t* output,
                          const PixelGrid* grid, const Workers& workers, ScratchKeeper* keeper);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_CONVOLUTION_H_

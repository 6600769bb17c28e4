#ifndef SLUICE_KERNELS_NN_CONVOLUTION_H_
#define SLUICE_KERNELS_NN_CONVOLUTION_H_

// Note [Convolution by products]
// A convolution is a product of matrices: a row of A holds the elements of one window (a pixel of the result), B is the
// filter, C the result. Only as many rows of A as fit the second-level cache exist at a time: a shard gathers them into
// its worker's scratch memory and multiplies them by the packed filter, which all workers share. Bias and activation
// follow while the shard's part of C is in the cache. Where windows are single pixels the image is A itself.
// An element of C does not depend on the rows beside it, so results are the same bits for any number of threads.

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/packed_matrix.h"
#include "kernels/nn/conv2d_geometry.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {

// One convolution of an image with a packed filter; see Note [Convolution by products]. Borrows everything. T is float
// or double.
template <typename T>
class Convolution {
 public:
  // `filter`: packed as LayoutOf(geometry). `epilogue` may be null.
  Convolution(const Conv2DGeometry& geometry, const T* image, const PackedMatrix& filter, T* output,
              const GemmEpilogue<T>* epilogue);

  // How a filter is packed: groups of columns, each for itself.
  static PackedLayout LayoutOf(const Conv2DGeometry& geometry);

  // Fills the output. kOutOfMemory when there is no scratch memory; kRunCancelled, kDeadline. `keeper` may be null.
  absl::Status Run(const Workers& workers, ScratchKeeper* keeper) const;

 private:
  // Pixels [first, first + count) of the result.
  void RunPixels(int64_t first, int64_t count, T* scratch, GemmStop stop) const;

  const Conv2DGeometry& geometry_;
  const T* const image_;
  const PackedMatrix& filter_;
  T* const output_;
  const GemmEpilogue<T>* const epilogue_;
  const bool gathers_;
  const int64_t shard_pixels_;  // Of each shard but the last.
};

// The same for int32, whose sums wrap around, with the filter as it lies in memory: simple loops.
absl::Status ConvolveInts(const Conv2DGeometry& geometry, const int32_t* image, const int32_t* filter, int32_t* output,
                          const Workers& workers, ScratchKeeper* keeper);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_CONVOLUTION_H_

#ifndef SLUICE_KERNELS_NN_WINOGRAD_H_
#define SLUICE_KERNELS_NN_WINOGRAD_H_

// Note [Minimal filtering]
// A convolution of 3 x 3 windows that go in steps of 1 makes 2 x 2 pixels from a tile of 4 x 4 with 16 multiplications
// for each channel taken and made, where the plain way takes 36 (Winograd's F(2x2, 3x3); Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks"). The tile and the filter are transformed by additions and halves; then
// there are 16 products of matrices, of all tiles' channels with the filter's; and their sums are transformed back. A
// shard does that for some tiles whose numbers stay in the cache; an epilogue follows for each tile.
//
// Small whole numbers give exact results, pixels of zeros zeros. The rounding error of a result goes by each pixel of
// its window times the largest of the nine taps between two channels, where that of the plain way goes by the pixel
// times its own tap. Where the nine are of one size that is the same; but where a tap is zero (filters that are pruned,
// masked, or begin as the identity) a large pixel would take the digits of the small ones beside it, and plain sums do
// not see it. Which pixels come is not known, so the filter decides: one with gaps is never transformed.
// Under a tap that is merely small a large pixel costs as many digits as the tap is smaller than the largest of the
// nine.
//
// An image with a result that is not finite, or 2^20 or more, is made again the plain way, so that the traces of an
// infinity or NaN are where TensorFlow has them. Images of a batch do not depend on each other, nor tiles on those
// beside them: the same bits for any number of threads. But whether a convolution is large enough is asked of the whole
// batch: an image may have other last bits alone than in a batch.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"
#include "kernels/linalg/gemm.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {

// Whether a convolution of floats is made this way: depends on sizes alone.
bool HasMinimalFilter(const ConvGeometry& geometry);

// The transformed, packed form of a filter of floats [3, 3, from, to]. `turned`: of the convolution that makes the
// gradient of an image, whose taps stand in reverse order and which takes `to` channels. Has no value if, between two
// channels, some taps are zero (or count as zero) and others are not: then use the plain way. kOutOfMemory.
absl::StatusOr<Tensor> PackMinimalFilter(const float* filter, int64_t from, int64_t to, bool turned,
                                         Allocator& allocator);

// Keeps that form of a kernel's filter if the filter is constant. Thread-safe.
class MinimalFilter {
 public:
  explicit MinimalFilter(bool is_constant) : is_constant_(is_constant) {}

  // `filter`: [..., 3, 3, from, to] of float, or half or bfloat16, which become floats. As PackMinimalFilter.
  absl::StatusOr<Tensor> Get(const Tensor& filter, bool turned, Allocator& allocator) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Kept {
    Tensor source;  // Held so that nothing else can ever stand at its address.
    Tensor packed;
  };

  const bool is_constant_;
  mutable Mutex mu_;
  mutable std::shared_ptr<const Kept> kept_ ABSL_GUARDED_BY(mu_);
};

// Images [first, first + count) of a batch.
struct ImageRange {
  int64_t first = 0;
  int64_t count = 0;
};

// The convolution of as many images alone.
ConvGeometry OfImages(const ConvGeometry& geometry, int64_t count);

// One convolution. Borrows everything. REQUIRES: HasMinimalFilter(geometry).
class MinimalConvolution {
 public:
  // `filter`: what PackMinimalFilter gives. `epilogue` may be null.
  MinimalConvolution(const ConvGeometry& geometry, const float* image, const float* filter, float* output,
                     const GemmEpilogue<float>* epilogue);

  // Fills the output but for the images that it returns, which need the plain way. kOutOfMemory, kRunCancelled,
  // kDeadline.
  absl::StatusOr<std::vector<ImageRange>> Run(const Workers& workers, ScratchKeeper* keeper) const;

 private:
  class ImageMarks;

  // Tiles [first, first + count), counted over all images. Marks images with results that are too large.
  void RunTiles(int64_t first, int64_t count, float* scratch, ImageMarks* wrong) const;
  void SpreadTile(int64_t tile, const float* zeros, float* out, int64_t step) const;
  bool CollectTile(int64_t tile, const float* sums, int64_t step) const;
  void Multiply(const float* a, const float* filter, int64_t rows, float* c) const;

  const ConvGeometry& g_;
  const float* const image_;
  const float* const filter_;
  float* const output_;
  const GemmEpilogue<float>* const epilogue_;
  const int64_t tile_rows_, tile_cols_;  // Tiles of a plane.
  const int64_t image_tiles_;            // Of all planes of an image.
  const int64_t in_ld_, out_ld_;         // Numbers of a tile, from one to the next.
  const int64_t shard_tiles_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_WINOGRAD_H_

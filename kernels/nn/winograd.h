#ifndef SLUICE_KERNELS_NN_WINOGRAD_H_
#define SLUICE_KERNELS_NN_WINOGRAD_H_

// Note [Minimal filtering]
// A convolution of 3 x 3 windows that go in steps of 1 makes 2 x 2 pixels from a tile of 4 x 4 with 16 multiplications
// for each channel taken and made, where the plain way takes 36 (Winograd's F(2x2, 3x3); Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks"). The tile and the filter are transformed by additions and halves; then
// there are 16 products of matrices, of all tiles' channels with the filter's; and their sums are transformed back. A
// shard does that for some tiles whose numbers stay in the cache; an epilogue follows for each tile.
//
// Small whole numbers give exact results, pixels of zeros zeros, and the rounding errors are no larger than those of
// the plain way; but they go by the largest numbers in a tile, where those of the plain way go by the window's. A
// number that is infinite or NaN, or huge beside the others, would spread over its tile: where a result is not finite,
// or 2^20 or more, the convolution is made again the plain way, so that its traces are where TensorFlow has them. A
// tile does not depend on those beside it: the same bits for any number of threads.

#include <cstdint>
#include <memory>

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
// gradient of an image, whose taps stand in reverse order and which takes `to` channels. kOutOfMemory.
absl::StatusOr<Tensor> PackMinimalFilter(const float* filter, int64_t from, int64_t to, bool turned,
                                         Allocator& allocator);

// That form of the filter of a kernel, kept where the filter is constant. Thread-safe.
class MinimalFilter {
 public:
  explicit MinimalFilter(bool is_constant) : is_constant_(is_constant) {}

  // `filter`: [..., 3, 3, from, to] of float, or half or bfloat16, which become floats.
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

// One convolution. Borrows everything. REQUIRES: HasMinimalFilter(geometry).
class MinimalConvolution {
 public:
  // `filter`: what PackMinimalFilter gives. `epilogue` may be null.
  MinimalConvolution(const ConvGeometry& geometry, const float* image, const float* filter, float* output,
                     const GemmEpilogue<float>* epilogue);

  // Fills the output and returns true; false where the plain way is needed. kOutOfMemory, kRunCancelled, kDeadline.
  absl::StatusOr<bool> Run(const Workers& workers, ScratchKeeper* keeper) const;

 private:
  // Tiles [first, first + count), counted over all images. False where a result is too large.
  bool RunTiles(int64_t first, int64_t count, float* scratch) const;
  void SpreadTile(int64_t tile, const float* zeros, float* out, int64_t step) const;
  bool CollectTile(int64_t tile, const float* sums, int64_t step) const;
  void Multiply(const float* a, const float* filter, int64_t rows, float* c) const;

  const ConvGeometry& g_;
  const float* const image_;
  const float* const filter_;
  float* const output_;
  const GemmEpilogue<float>* const epilogue_;
  const int64_t tile_rows_, tile_cols_;  // Tiles of an image.
  const int64_t in_ld_, out_ld_;         // Numbers of a tile, from one to the next.
  const int64_t shard_tiles_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_WINOGRAD_H_

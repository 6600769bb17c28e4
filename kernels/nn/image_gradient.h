#ifndef SLUICE_KERNELS_NN_IMAGE_GRADIENT_H_
#define SLUICE_KERNELS_NN_IMAGE_GRADIENT_H_

// Note [Gradients of images]
// The gradient of an image, or what a transposed convolution makes, is a sum over the windows that a pixel is in. Along
// an axis pixel i is tap k of window o where o * stride - before + k * dilation = i. So the taps that meet a pixel
// depend on (i + before) mod stride alone: pixels of equal remainder make a phase, and along an axis there are as many
// phases as remainders that taps have. Each tap is in one phase. Within a phase pixels and windows go in steps of 1:
// the phase is a convolution of the result's gradient, of stride 1, with its taps in reverse order as the filter (its
// channels exchanged), and its pixels lie on a grid in the image. All phases together do as many multiplications as the
// convolution itself, and each is one of Note [Convolution by products]. Pixels in no phase are zero.
// Images of few channels are made another way: Note [Sums of windows] in window_sums.h.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/nn/winograd.h"
#include "kernels/worker_scratch.h"

namespace sluice {

// One axis of a phase.
struct AxisPhase {
  SlidingAxis slide;     // Over the gradient of the result. No pixels (`out` 0) where the image is too small.
  int64_t first = 0;     // The image's first pixel of the phase; the next ones are a stride of the convolution apart.
  int64_t last_tap = 0;  // The convolution's tap for the first of the phase; the next ones are `tap_step` before it.
  int64_t tap_step = 1;
};

// The phases of an axis of a convolution, in the order of their lowest taps. Their taps depend on window, stride and
// dilation alone.
std::vector<AxisPhase> PhasesOf(const SlidingAxis& axis);

// The filter of a kernel, packed for the way that ImageGradient takes; kept where it is constant. Thread-safe.
class PhaseFilter {
 public:
  explicit PhaseFilter(bool is_constant) : is_constant_(is_constant) {}

  // `filter`: float, double; half and bfloat16 become floats. `geometry`: of the convolution; for one kernel the same
  // but for sizes.
  absl::StatusOr<Tensor> Get(const KernelContext& context, const ConvGeometry& geometry, const Tensor& filter) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Kept {
    Tensor source;  // Held so that nothing else can ever stand at its address.
    Tensor packed;
  };

  const bool is_constant_;
  mutable Mutex mu_;
  mutable std::shared_ptr<const Kept> kept_ ABSL_GUARDED_BY(mu_);
};

// Fills `image` with the gradient of the image of the convolution `geometry`, whose result has the gradient `result`
// (as many elements as geometry says, at least one; so has `image`). T is float or double; `filter` is what PhaseFilter
// gives. The same bits for any number of threads. kOutOfMemory, kRunCancelled, kDeadline.
template <typename T>
absl::Status ImageGradient(const KernelContext& context, const ConvGeometry& geometry, const Tensor& filter,
                           const T* result, T* image, ScratchKeeper* keeper);

// The same by Note [Minimal filtering], where the gradient is one convolution of that kind. Returns the images that
// need ImageGradient. `filter`: the convolution's own.
absl::StatusOr<std::vector<ImageRange>> MinimalImageGradient(const KernelContext& context, const ConvGeometry& geometry,
                                                             const MinimalFilter& kept, const Tensor& filter,
                                                             const float* result, float* image, ScratchKeeper* keeper);

// The same for int32, whose sums wrap around, with the filter as it is.
absl::Status ImageGradientOfInts(const KernelContext& context, const ConvGeometry& geometry, const int32_t* filter,
                                 const int32_t* result, int32_t* image, ScratchKeeper* keeper);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_IMAGE_GRADIENT_H_

#ifndef SLUICE_KERNELS_NORM_NORM_PASSES_H_
#define SLUICE_KERNELS_NORM_NORM_PASSES_H_

// Passes over the blocks of a tensor: sums for each channel, and what is made of elements with numbers for each
// channel.

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"
#include "kernels/norm/channel_loops.h"
#include "kernels/norm/channel_planes.h"
#include "kernels/pool/wide_values.h"
#include "kernels/worker_scratch.h"

namespace sluice {

// `count` numbers for each channel, as the loops read them. Filled by one thread at a time.
template <typename W>
class ChannelNumbers {
 public:
  static absl::StatusOr<ChannelNumbers> Make(const KernelContext& context, const ChannelPlanes& planes, int count);

  // The `k`-th number of each channel, to be written.
  W* of(int k) { return memory_.flat<W>().data() + k * stride_; }
  // Call once all are written.
  void Finish();
  // The `k`-th numbers for the rows of `block`. `scratch`: SumWidth(row_channels) elements.
  const W* For(const ChannelBlockOfRows& block, int k, W* scratch) const;

 private:
  ChannelNumbers(const ChannelPlanes& planes, int count, Tensor memory)
      : memory_(std::move(memory)),
        count_(count),
        channels_(planes.channels),
        channels_last_(planes.channels_last),
        stride_(channels_last_ ? SumWidth(channels_) : channels_) {}

  Tensor memory_;
  int count_;
  int64_t channels_;
  bool channels_last_;
  int64_t stride_;
};

// The addend and the activation that follow a normalisation.
template <typename W>
struct NormEpilogue {
  const WideReader<W>* side = nullptr;
  bool is_relu = false;
};

// Passes of one call of a kernel, computed in W: float or double. Tensors are read through readers, so that an output
// may lie in the memory of an input. Not thread-safe.
template <typename W>
class NormPasses {
 public:
  // Everything is borrowed.
  NormPasses(KernelContext& context, const ChannelPlanes& planes, ScratchKeeper* keeper)
      : context_(context), planes_(planes), keeper_(keeper) {}

  // Sums for CombineMoments.
  absl::StatusOr<Tensor> Moments(const WideReader<W>& x) const;
  // Sums for CombineProducts; number 0 of `numbers` is the mean.
  absl::StatusOr<Tensor> Products(const WideReader<W>& dy, const WideReader<W>& x,
                                  const ChannelNumbers<W>& numbers) const;
  // `y` from `x` by numbers 0 (mean), 1 (factor) and 2 (offset).
  absl::Status Normalize(const WideReader<W>& x, const ChannelNumbers<W>& numbers, const NormEpilogue<W>& epilogue,
                         Tensor* y) const;
  // `dx` by numbers 0 (mean), 1 (factor), 2 (mean of dy) and 3 (slope).
  absl::Status Gradient(const WideReader<W>& dy, const WideReader<W>& x, const ChannelNumbers<W>& numbers,
                        Tensor* dx) const;

 private:
  absl::StatusOr<Tensor> AllocateSums() const;
  int64_t width() const { return SumWidth(planes_.row_channels); }
  // Bytes for `vectors` vectors of sums and `blocks` blocks of elements.
  int64_t ScratchBytes(int64_t vectors, int64_t blocks) const {
    return (vectors * width() + blocks * planes_.block_elements()) * static_cast<int64_t>(sizeof(W));
  }

  KernelContext& context_;
  const ChannelPlanes& planes_;
  ScratchKeeper* const keeper_;
};

extern template class ChannelNumbers<float>;
extern template class ChannelNumbers<double>;
extern template class NormPasses<float>;
extern template class NormPasses<double>;

}  // namespace sluice

#endif  // SLUICE_KERNELS_NORM_NORM_PASSES_H_

#ifndef SLUICE_KERNELS_POOL_FRACTIONAL_SEQUENCE_H_
#define SLUICE_KERNELS_POOL_FRACTIONAL_SEQUENCE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/kernel_context.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/random/philox.h"

namespace sluice {

// Random cuts of an axis into windows of about equal sizes, the same as TensorFlow's for the same numbers of
// `generator`, from which each call takes whole blocks.
class FractionalSequence {
 public:
  FractionalSequence(const Philox& generator, bool is_pseudo_random)
      : generator_(generator), is_pseudo_random_(is_pseudo_random) {}

  // Cuts `length` elements into bounds.size() - 1 windows: bounds[0] is 0, the last one is `length`.
  // REQUIRES: 1 <= windows <= length.
  void Cut(int64_t length, absl::Span<int64_t> bounds);

 private:
  // Sizes in random order.
  void Shuffled(int64_t length, absl::Span<int64_t> sizes);
  // All bounds from one random number.
  void Shifted(int64_t length, absl::Span<int64_t> sizes);

  Philox generator_;
  const bool is_pseudo_random_;
};

// Makes `axis`, whose `in` is set, that of the cuts in input `input`. kOpShape, kOpValue unless they are two or more
// places that ascend, from 0 on, and each window begins within the axis.
absl::Status SetFractionalAxis(const KernelContext& context, int input, bool is_overlapping, PoolAxis* axis);

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_FRACTIONAL_SEQUENCE_H_

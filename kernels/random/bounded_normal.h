#ifndef SLUICE_KERNELS_RANDOM_BOUNDED_NORMAL_H_
#define SLUICE_KERNELS_RANDOM_BOUNDED_NORMAL_H_

// Normal numbers of any mean and deviation, between any bounds (Robert, "Simulation of truncated normal variables",
// 1995), one batch of equal parameters after the other. Where a batch begins depends on how many numbers the batches
// before it rejected, so that one thread draws them all; TensorFlow's answer is the same where it uses one thread.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graph/value/tensor.h"
#include "kernels/random/philox.h"
#include "kernels/workers.h"

namespace sluice {

// Inputs `first_input` to `first_input` + 3 of a call: means, deviations, lower and upper bounds.
struct BoundedNormalInputs {
  const Tensor* tensors[4];
  int first_input;
};

// The batches of a call, and where they lie in the output.
struct BoundedNormalBatches {
  int64_t count = 0;
  int64_t samples = 0;    // In each; in the last one as far as the output goes.
  bool is_inner = false;  // Sample s of batch b is element s * count + b; else b * samples + s.
};

// Which element of tensor `tensor` (0 to 3) batch `batch` takes.
using ParameterIndex = absl::FunctionRef<int64_t(size_t tensor, int64_t batch)>;

// Fills `out`, of half, float or double. kOpValue for a deviation that is not positive or bounds with nothing between.
absl::Status FillBoundedNormal(const Workers& workers, Philox generator, const BoundedNormalInputs& inputs,
                               const BoundedNormalBatches& batches, ParameterIndex index, Tensor* out);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_BOUNDED_NORMAL_H_

#ifndef SLUICE_KERNELS_RANDOM_FILL_RANDOM_H_
#define SLUICE_KERNELS_RANDOM_FILL_RANDOM_H_

// Tensors filled with independent numbers of one distribution. Every op that gives such numbers, whatever keeps its
// generator, gives them through these.
//
// Note [Blocks of samples]
// A block of the generator has four words: four numbers of 32 or 16 bits, or two of 64. Number i of a tensor comes from
// block i / 4 (or i / 2), whatever thread computes it. A truncated normal number may take any number of words; there
// every group of four (two) numbers begins 256 (128) times as many blocks further, so that no group needs to know what
// the groups before it took. All of it is TensorFlow's numbering, and so are the bits.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"
#include "kernels/random/philox.h"
#include "kernels/workers.h"

namespace sluice {

// Blocks that a call of an op with state takes from its sequence for each number that it gives, as in TensorFlow, whose
// ops may throw numbers away: what comes next depends on it.
constexpr uint64_t kBlocksPerNumber = 256;

enum class Distribution {
  kUniform,          // Floats of [0, 1).
  kNormal,           // Floats of mean 0 and deviation 1.
  kTruncatedNormal,  // Of these the ones below 2 in size.
  kBits,             // Integers of 32 or 64 bits, all of them equally likely.
};

// `first` stands at the first block. An error only where the run must stop. REQUIRES: a dtype as above.
absl::Status FillRandom(const Workers& workers, const Philox& first, Distribution distribution, Tensor* out);

// Integers of [low, low + width).
struct IntRange {
  uint64_t low = 0;  // In two's complement.
  uint64_t width = 1;
};
// REQUIRES: integers of 32 or 64 bits, width > 0.
absl::Status FillRandomInts(const Workers& workers, const Philox& first, const IntRange& range, Tensor* out);

// [minval, maxval) of two scalars of int32 or int64: inputs `input` and `input` + 1. kOpShape for other ranks, kOpValue
// when nothing lies between (not asked for where `is_empty` says that no number is needed).
absl::StatusOr<IntRange> ReadIntRange(const KernelContext& context, int input, bool is_empty);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_FILL_RANDOM_H_

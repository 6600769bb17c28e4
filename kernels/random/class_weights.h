#ifndef SLUICE_KERNELS_RANDOM_CLASS_WEIGHTS_H_
#define SLUICE_KERNELS_RANDOM_CLASS_WEIGHTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// The weights of a FixedUnigramCandidateSampler's classes, from its attrs: reserved ones of weight 0, then those of
// attr unigrams or of a file of lines that end with ",<weight>", to the power of distortion; of these every
// num_shards-th. kOpAttr unless there are range_max of them; the file's error where it cannot be read.
absl::StatusOr<std::vector<float>> ReadClassWeights(const KernelConstruction& construction);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_CLASS_WEIGHTS_H_

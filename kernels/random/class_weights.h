#ifndef SLUICE_KERNELS_RANDOM_CLASS_WEIGHTS_H_
#define SLUICE_KERNELS_RANDOM_CLASS_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// The weights of the classes of a FixedUnigramCandidateSampler: reserved ones of weight 0, then those of attr unigrams
// or of a file of lines that end with ",<weight>", to the power of distortion; of these every num_shards-th.
struct ClassWeightAttrs {
  int64_t range = 0, reserved = 0;
  float distortion = 1;
  int64_t num_shards = 1, shard = 0;
  std::string file;  // Empty: they are listed.
  std::vector<float> unigrams;
};

// kOpAttr.
absl::StatusOr<ClassWeightAttrs> ReadClassWeightAttrs(const KernelConstruction& construction);

// The weights. Reads the file. kOpAttr unless there are attrs.range of them; the file's error where it cannot be read.
absl::StatusOr<std::vector<float>> ClassWeights(const ClassWeightAttrs& attrs);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_CLASS_WEIGHTS_H_

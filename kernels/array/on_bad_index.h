#ifndef SLUICE_KERNELS_ARRAY_ON_BAD_INDEX_H_
#define SLUICE_KERNELS_ARRAY_ON_BAD_INDEX_H_

#include "absl/status/statusor.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// What GatherNd, or a scatter by coordinates, does about an index outside of the tensor.
enum class OnBadIndex {
  kError,
  kSkip,  // Zeros are gathered, and an update goes nowhere.
};

// The attr bad_indices_policy: kSkip for "IGNORE". kOpAttr for an unknown policy.
absl::StatusOr<OnBadIndex> ReadOnBadIndex(const KernelConstruction& construction);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_ON_BAD_INDEX_H_

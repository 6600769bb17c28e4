#ifndef SLUICE_KERNELS_ARRAY_BAD_INDICES_H_
#define SLUICE_KERNELS_ARRAY_BAD_INDICES_H_

#include "absl/status/statusor.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// What becomes of an index of GatherNd or of a scatter by coordinates that leads out of the tensor.
enum class BadIndices {
  kAreErrors,
  kAreSkipped,  // Zeros are gathered, and an update goes nowhere.
};

// The attr bad_indices_policy: kAreSkipped for "IGNORE". kOpAttr for a policy that there is not.
absl::StatusOr<BadIndices> ReadBadIndices(const KernelConstruction& construction);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_BAD_INDICES_H_

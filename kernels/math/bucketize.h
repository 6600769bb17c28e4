#ifndef SLUICE_KERNELS_MATH_BUCKETIZE_H_
#define SLUICE_KERNELS_MATH_BUCKETIZE_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Bucketize.
absl::Span<const KernelDef> BucketizeKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_BUCKETIZE_H_

#ifndef SLUICE_KERNELS_REDUCE_PRODUCT_H_
#define SLUICE_KERNELS_REDUCE_PRODUCT_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Reductions that multiply: Prod, EuclideanNorm.
absl::Span<const KernelDef> ProductKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_PRODUCT_H_

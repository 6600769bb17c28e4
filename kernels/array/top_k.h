#ifndef SLUICE_KERNELS_ARRAY_TOP_K_H_
#define SLUICE_KERNELS_ARRAY_TOP_K_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// The largest elements of each row: TopK, TopKV2, NthElement.
absl::Span<const KernelDef> TopKKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_TOP_K_H_

#ifndef SLUICE_KERNELS_ARRAY_BITCAST_H_
#define SLUICE_KERNELS_ARRAY_BITCAST_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// The same bytes as elements of another dtype: Bitcast.
absl::Span<const KernelDef> BitcastKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_BITCAST_H_

#ifndef SLUICE_KERNELS_REDUCE_SCAN_H_
#define SLUICE_KERNELS_REDUCE_SCAN_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Running sums and products: Cumsum, Cumprod, CumulativeLogsumexp.
absl::Span<const KernelDef> ScanKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_SCAN_H_

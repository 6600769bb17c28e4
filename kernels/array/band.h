#ifndef SLUICE_KERNELS_ARRAY_BAND_H_
#define SLUICE_KERNELS_ARRAY_BAND_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Diag and DiagPart, for tensors of any rank, and MatrixBandPart.
absl::Span<const KernelDef> BandKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_BAND_H_

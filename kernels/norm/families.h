#ifndef SLUICE_KERNELS_NORM_FAMILIES_H_
#define SLUICE_KERNELS_NORM_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// FusedBatchNorm, V2, V3, _FusedBatchNormEx.
SLUICE_AT_START absl::Span<const KernelRow> FusedBatchNormKernels();
// FusedBatchNormGrad, V2, V3.
SLUICE_AT_START absl::Span<const KernelRow> FusedBatchNormGradKernels();
// BatchNormWithGlobalNormalization and its gradient.
SLUICE_AT_START absl::Span<const KernelRow> GlobalBatchNormKernels();
// LRN, LRNGrad.
SLUICE_AT_START absl::Span<const KernelRow> LrnKernels();

// Adds all of them.
SLUICE_AT_START void AddNormKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NORM_FAMILIES_H_

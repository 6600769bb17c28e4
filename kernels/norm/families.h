#ifndef SLUICE_KERNELS_NORM_FAMILIES_H_
#define SLUICE_KERNELS_NORM_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

absl::Span<const KernelRow> FusedBatchNormKernels();      // FusedBatchNorm, V2, V3, _FusedBatchNormEx.
absl::Span<const KernelRow> FusedBatchNormGradKernels();  // FusedBatchNormGrad, V2, V3.
absl::Span<const KernelRow> GlobalBatchNormKernels();     // BatchNormWithGlobalNormalization and its gradient.
absl::Span<const KernelRow> LrnKernels();                 // LRN, LRNGrad.

// Adds all of them.
void AddNormKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NORM_FAMILIES_H_

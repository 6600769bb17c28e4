#ifndef SLUICE_KERNELS_POOL_FAMILIES_H_
#define SLUICE_KERNELS_POOL_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

absl::Span<const KernelRow> AvgPoolKernels();             // AvgPool, AvgPool3D, AvgPoolGrad, AvgPool3DGrad.
absl::Span<const KernelRow> FractionalPoolKernels();      // FractionalAvgPool, FractionalMaxPool.
absl::Span<const KernelRow> FractionalPoolGradKernels();  // Their gradients.
absl::Span<const KernelRow> MaxPoolKernels();             // MaxPool, MaxPoolV2, MaxPool3D.
// MaxPoolWithArgmax, MaxPoolGradWithArgmax, MaxPoolGradGradWithArgmax.
absl::Span<const KernelRow> MaxPoolArgmaxKernels();
absl::Span<const KernelRow> MaxPoolGradKernels();      // MaxPoolGrad, MaxPoolGradV2, MaxPool3DGrad.
absl::Span<const KernelRow> MaxPoolGradGradKernels();  // MaxPoolGradGrad, MaxPoolGradGradV2, MaxPool3DGradGrad.

// Adds all of them.
void AddPoolKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_FAMILIES_H_

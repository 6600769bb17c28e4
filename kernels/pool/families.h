#ifndef SLUICE_KERNELS_POOL_FAMILIES_H_
#define SLUICE_KERNELS_POOL_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// AvgPool, AvgPool3D, AvgPoolGrad, AvgPool3DGrad.
SLUICE_AT_START absl::Span<const KernelRow> AvgPoolKernels();
// FractionalAvgPool, FractionalMaxPool.
SLUICE_AT_START absl::Span<const KernelRow> FractionalPoolKernels();
// Their gradients.
SLUICE_AT_START absl::Span<const KernelRow> FractionalPoolGradKernels();
// MaxPool, MaxPoolV2, MaxPool3D.
SLUICE_AT_START absl::Span<const KernelRow> MaxPoolKernels();
// MaxPoolWithArgmax, MaxPoolGradWithArgmax, MaxPoolGradGradWithArgmax.
SLUICE_AT_START absl::Span<const KernelRow> MaxPoolArgmaxKernels();
// MaxPoolGrad, MaxPoolGradV2, MaxPool3DGrad, MaxPoolGradGrad, MaxPoolGradGradV2, MaxPool3DGradGrad.
SLUICE_AT_START absl::Span<const KernelRow> MaxPoolGradKernels();

// Adds all of them.
SLUICE_AT_START void AddPoolKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_FAMILIES_H_

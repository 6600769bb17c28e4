#ifndef SLUICE_KERNELS_NN_FAMILIES_H_
#define SLUICE_KERNELS_NN_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Conv2D, and _FusedConv2D: a convolution of images, a bias for each channel, and an activation.
absl::Span<const KernelRow> Conv2DKernels();
absl::Span<const KernelRow>
CrossEntropyKernels();                        // SoftmaxCrossEntropyWithLogits, SparseSoftmaxCrossEntropyWithLogits.
absl::Span<const KernelRow> InTopKKernels();  // InTopK, InTopKV2.

// Adds all of them.
void AddNnKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_FAMILIES_H_

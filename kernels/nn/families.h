#ifndef SLUICE_KERNELS_NN_FAMILIES_H_
#define SLUICE_KERNELS_NN_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Conv2D, Conv3D: convolutions of images and volumes.
absl::Span<const KernelRow> Conv2DKernels();
absl::Span<const KernelRow>
CrossEntropyKernels();                        // SoftmaxCrossEntropyWithLogits, SparseSoftmaxCrossEntropyWithLogits.
absl::Span<const KernelRow> InTopKKernels();  // InTopK, InTopKV2.

// Their gradients: Conv2DBackpropInput (transposed convolutions), Conv2DBackpropFilter, those of volumes.
absl::Span<const KernelRow> ConvGradientKernels();

// DepthwiseConv2dNative and its gradients; _FusedDepthwiseConv2dNative.
absl::Span<const KernelRow> DepthwiseConv2DKernels();

// Dilation2D: greyscale dilation, and its gradients.
absl::Span<const KernelRow> Dilation2DKernels();

// ExtractImagePatches, ExtractVolumePatches.
absl::Span<const KernelRow> ExtractPatchesKernels();

// _FusedConv2D: a convolution of images, then a bias or a normalisation of each channel, and an activation.
absl::Span<const KernelRow> FusedConv2DKernels();

// Adds all of them.
void AddNnKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_FAMILIES_H_

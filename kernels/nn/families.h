#ifndef SLUICE_KERNELS_NN_FAMILIES_H_
#define SLUICE_KERNELS_NN_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Conv2D, Conv3D: convolutions of images and volumes.
SLUICE_AT_START absl::Span<const KernelRow> Conv2DKernels();
// SoftmaxCrossEntropyWithLogits, SparseSoftmaxCrossEntropyWithLogits.
SLUICE_AT_START absl::Span<const KernelRow> CrossEntropyKernels();
// InTopK, InTopKV2.
SLUICE_AT_START absl::Span<const KernelRow> InTopKKernels();

// Their gradients: Conv2DBackpropInput (transposed convolutions), Conv2DBackpropFilter, those of volumes.
SLUICE_AT_START absl::Span<const KernelRow> ConvGradientKernels();

// DepthwiseConv2dNative and its gradients; _FusedDepthwiseConv2dNative.
SLUICE_AT_START absl::Span<const KernelRow> DepthwiseConv2DKernels();

// Dilation2D: greyscale dilation, and its gradients.
SLUICE_AT_START absl::Span<const KernelRow> Dilation2DKernels();

// ExtractImagePatches, ExtractVolumePatches.
SLUICE_AT_START absl::Span<const KernelRow> ExtractPatchesKernels();

// _FusedConv2D: a convolution of images, then a bias or a normalisation of each channel, and an activation.
SLUICE_AT_START absl::Span<const KernelRow> FusedConv2DKernels();

// Adds all of them.
SLUICE_AT_START void AddNnKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_FAMILIES_H_

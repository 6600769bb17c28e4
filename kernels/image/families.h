#ifndef SLUICE_KERNELS_IMAGE_FAMILIES_H_
#define SLUICE_KERNELS_IMAGE_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// ResizeBilinear, ResizeBicubic, ResizeArea.
absl::Span<const KernelRow> ResizeKernels();
// ResizeBilinearGrad, ResizeBicubicGrad.
absl::Span<const KernelRow> ResizeGradKernels();
// ResizeNearestNeighbor and its gradient.
absl::Span<const KernelRow> ResizeNearestKernels();
// ScaleAndTranslate and its gradient.
absl::Span<const KernelRow> ScaleAndTranslateKernels();
// CropAndResize.
absl::Span<const KernelRow> CropAndResizeKernels();
// The gradients of CropAndResize: of the image, and of the boxes.
absl::Span<const KernelRow> CropAndResizeGradKernels();
// NonMaxSuppression, all versions, WithOverlaps, too.
absl::Span<const KernelRow> NonMaxSuppressionKernels();
// CombinedNonMaxSuppression: classes of a batch.
absl::Span<const KernelRow> CombinedNonMaxSuppressionKernels();
// RGBToHSV, HSVToRGB.
absl::Span<const KernelRow> ColorKernels();
// AdjustContrastv2, AdjustHue, AdjustSaturation.
absl::Span<const KernelRow> AdjustKernels();
// DrawBoundingBoxes, both versions.
absl::Span<const KernelRow> DrawBoxesKernels();
// SampleDistortedBoundingBox, both versions.
absl::Span<const KernelRow> SampleBoxKernels();

// Adds all of them.
void AddImageKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IMAGE_FAMILIES_H_

#ifndef SLUICE_KERNELS_IMAGE_FAMILIES_H_
#define SLUICE_KERNELS_IMAGE_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// ResizeBilinear, ResizeBicubic, ResizeArea.
SLUICE_AT_START absl::Span<const KernelRow> ResizeKernels();
// ResizeBilinearGrad, ResizeBicubicGrad.
SLUICE_AT_START absl::Span<const KernelRow> ResizeGradKernels();
// ResizeNearestNeighbor and its gradient.
SLUICE_AT_START absl::Span<const KernelRow> ResizeNearestKernels();
// ScaleAndTranslate and its gradient.
SLUICE_AT_START absl::Span<const KernelRow> ScaleAndTranslateKernels();
// CropAndResize.
SLUICE_AT_START absl::Span<const KernelRow> CropAndResizeKernels();
// The gradients of CropAndResize: of the image, and of the boxes.
SLUICE_AT_START absl::Span<const KernelRow> CropAndResizeGradKernels();
// NonMaxSuppression, all versions, WithOverlaps, too.
SLUICE_AT_START absl::Span<const KernelRow> NonMaxSuppressionKernels();
// CombinedNonMaxSuppression: classes of a batch.
SLUICE_AT_START absl::Span<const KernelRow> CombinedNonMaxSuppressionKernels();
// RGBToHSV, HSVToRGB.
SLUICE_AT_START absl::Span<const KernelRow> ColorKernels();
// AdjustContrastv2, AdjustHue, AdjustSaturation.
SLUICE_AT_START absl::Span<const KernelRow> AdjustKernels();
// DrawBoundingBoxes, both versions.
SLUICE_AT_START absl::Span<const KernelRow> DrawBoxesKernels();
// ImageProjectiveTransformV2 and V3.
SLUICE_AT_START absl::Span<const KernelRow> ProjectiveTransformKernels();
// ExtractGlimpse, both versions.
SLUICE_AT_START absl::Span<const KernelRow> ExtractGlimpseKernels();
// SampleDistortedBoundingBox, both versions, and the stateless one.
SLUICE_AT_START absl::Span<const KernelRow> SampleBoxKernels();

// Adds all of them.
SLUICE_AT_START void AddImageKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IMAGE_FAMILIES_H_

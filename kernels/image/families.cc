#include "kernels/image/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddImageKernels(KernelRegistry& registry) {
  registry.AddTable(ResizeKernels());
  registry.AddTable(ResizeGradKernels());
  registry.AddTable(ResizeNearestKernels());
  registry.AddTable(ScaleAndTranslateKernels());
  registry.AddTable(CropAndResizeKernels());
  registry.AddTable(CropAndResizeGradKernels());
  registry.AddTable(NonMaxSuppressionKernels());
  registry.AddTable(CombinedNonMaxSuppressionKernels());
  registry.AddTable(ColorKernels());
  registry.AddTable(AdjustKernels());
  registry.AddTable(DrawBoxesKernels());
  registry.AddTable(ProjectiveTransformKernels());
  registry.AddTable(ExtractGlimpseKernels());
  registry.AddTable(SampleBoxKernels());
}

}  // namespace sluice

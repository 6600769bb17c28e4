#include "kernels/nn/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddNnKernels(KernelRegistry& registry) {
  registry.AddTable(Conv2DKernels());
  registry.AddTable(ConvGradientKernels());
  registry.AddTable(DepthwiseConv2DKernels());
  registry.AddTable(Dilation2DKernels());
  registry.AddTable(ExtractPatchesKernels());
  registry.AddTable(FusedConv2DKernels());
  registry.AddTable(CrossEntropyKernels());
  registry.AddTable(InTopKKernels());
}

}  // namespace sluice

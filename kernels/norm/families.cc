#include "kernels/norm/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddNormKernels(KernelRegistry& registry) {
  registry.AddTable(FusedBatchNormKernels());
  registry.AddTable(FusedBatchNormGradKernels());
  registry.AddTable(GlobalBatchNormKernels());
  registry.AddTable(LrnKernels());
}

}  // namespace sluice

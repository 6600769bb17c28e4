#include "kernels/pool/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddPoolKernels(KernelRegistry& registry) {
  registry.AddTable(AvgPoolKernels());
  registry.AddTable(FractionalPoolKernels());
  registry.AddTable(FractionalPoolGradKernels());
  registry.AddTable(MaxPoolKernels());
  registry.AddTable(MaxPoolArgmaxKernels());
  registry.AddTable(MaxPoolGradKernels());
}

}  // namespace sluice

#include "kernels/nn/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddNnKernels(KernelRegistry& registry) {
  registry.AddTable(Conv2DKernels());
  registry.AddTable(CrossEntropyKernels());
  registry.AddTable(InTopKKernels());
}

}  // namespace sluice

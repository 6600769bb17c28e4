#include "kernels/layout/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddLayoutKernels(KernelRegistry& registry) {
  registry.AddTable(DataFormatKernels());
  registry.AddTable(InplaceKernels());
}

}  // namespace sluice

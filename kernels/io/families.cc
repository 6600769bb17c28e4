#include "kernels/io/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddIoKernels(KernelRegistry& registry) {
  registry.AddTable(FileKernels());
  registry.AddTable(RestoreV2Kernels());
  registry.AddTable(SaveV1Kernels());
  registry.AddTable(SaveV2Kernels());
}

}  // namespace sluice

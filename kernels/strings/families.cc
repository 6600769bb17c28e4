#include "kernels/strings/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddStringsKernels(KernelRegistry& registry) {
  registry.AddTable(StaticMatchKernels());
  registry.AddTable(StringJoinKernels());
}

}  // namespace sluice

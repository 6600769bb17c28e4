#include "kernels/strings/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddStringsKernels(KernelRegistry& registry) {
  registry.AddTable(AsStringKernels());
  registry.AddTable(HashBucketKernels());
  registry.AddTable(StaticMatchKernels());
  registry.AddTable(StringBytesKernels());
  registry.AddTable(StringJoinKernels());
}

}  // namespace sluice

#include "kernels/lists/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddListsKernels(KernelRegistry& registry) {
  registry.AddTable(ListKernels());
  registry.AddTable(ListRowsKernels());
  registry.AddTable(ListConcatKernels());
  registry.AddTable(MapKernels());
  registry.AddTable(OptionalKernels());
  registry.AddTable(VariantConstKernels());
}

}  // namespace sluice

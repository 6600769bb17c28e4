#include "kernels/tables/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddTablesKernels(KernelRegistry& registry) {
  registry.AddTable(TableHandleKernels());
  registry.AddTable(TableKernels());
  registry.AddTable(VocabularyKernels());
}

}  // namespace sluice

#include "kernels/state/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddStateKernels(KernelRegistry& registry) {
  registry.AddTable(RefVariableKernels());
  registry.AddTable(ResourceVariableKernels());
  registry.AddTable(SessionHandleKernels());
  registry.AddTable(StackKernels());
  registry.AddTable(TensorArrayKernels());
  registry.AddTable(TensorArrayRowsKernels());
  registry.AddTable(ScatterKernels());
  registry.AddTable(VariablePartsKernels());
}

}  // namespace sluice

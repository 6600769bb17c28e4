#include "kernels/random/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddRandomKernels(KernelRegistry& registry) {
  registry.AddTable(SeededNumbersKernels());
  registry.AddTable(StatelessNumbersKernels());
  registry.AddTable(StatefulNumbersKernels());
}

}  // namespace sluice

#include "kernels/control/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddControlKernels(KernelRegistry& registry) {
  registry.AddTable(BasicKernels());
  registry.AddTable(ForLoopKernels());
  registry.AddTable(AssertPrintKernels());
}

}  // namespace sluice

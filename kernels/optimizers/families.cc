#include "kernels/optimizers/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddOptimizerKernels(KernelRegistry& registry) {
  registry.AddTable(DescentKernels());
  registry.AddTable(AdagradKernels());
  registry.AddTable(AdamKernels());
  registry.AddTable(FtrlKernels());
}

}  // namespace sluice

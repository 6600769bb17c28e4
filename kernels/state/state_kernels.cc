#include "kernels/state/state_kernels.h"

#include "kernels/state/ref_variables.h"
#include "kernels/state/resource_variables.h"

namespace sluice {

void AddStateKernels(KernelRegistry& registry) {
  registry.AddTable(RefVariableKernels());
  registry.AddTable(ResourceVariableKernels());
}

}  // namespace sluice

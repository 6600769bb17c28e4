#include "kernels/random/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddRandomKernels(KernelRegistry& registry) { registry.AddTable(RandomUniformKernels()); }

}  // namespace sluice

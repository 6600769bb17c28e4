#include "kernels/transfer/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddTransferKernels(KernelRegistry& registry) { registry.AddTable(SendRecvKernels()); }

}  // namespace sluice

#include "kernels/ragged/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddRaggedKernels(KernelRegistry& registry) {
  registry.AddTable(RaggedCrossKernels());
  registry.AddTable(RaggedGatherKernels());
  registry.AddTable(RaggedRangeKernels());
  registry.AddTable(RaggedToSparseKernels());
  registry.AddTable(RaggedToTensorKernels());
  registry.AddTable(RaggedVariantKernels());
}

}  // namespace sluice

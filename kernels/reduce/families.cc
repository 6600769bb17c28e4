#include "kernels/reduce/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddReduceKernels(KernelRegistry& registry) {
  registry.AddTable(ArgExtremeKernels());
  registry.AddTable(ExtremeKernels());
  registry.AddTable(ProductKernels());
  registry.AddTable(ScanKernels());
  registry.AddTable(SegmentKernels());
  registry.AddTable(SumKernels());
  registry.AddTable(WideSumKernels());
}

}  // namespace sluice

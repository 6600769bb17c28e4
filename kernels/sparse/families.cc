#include "kernels/sparse/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddSparseKernels(KernelRegistry& registry) {
  registry.AddTable(BincountKernels());
  registry.AddTable(CountSparseKernels());
  registry.AddTable(FeatureCrossKernels());
  registry.AddTable(SetKernels());
  registry.AddTable(SparseAddKernels());
  registry.AddTable(SparseDenseKernels());
  registry.AddTable(SparseRearrangeKernels());
  registry.AddTable(SparseReduceKernels());
  registry.AddTable(SparseSegmentKernels());
  registry.AddTable(SparseSerializeKernels());
  registry.AddTable(SparseTensorsMapKernels());
  registry.AddTable(SparseToDenseKernels());
}

}  // namespace sluice

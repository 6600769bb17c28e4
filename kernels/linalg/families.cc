#include "kernels/linalg/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddLinalgKernels(KernelRegistry& registry) {
  registry.AddTable(EinsumKernels());
  registry.AddTable(FusedMatMulKernels());
  registry.AddTable(MatMulKernels());
  registry.AddTable(SparseMatMulKernels());
}

}  // namespace sluice

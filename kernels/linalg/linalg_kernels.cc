#include "kernels/linalg/linalg_kernels.h"

#include "kernels/linalg/einsum.h"
#include "kernels/linalg/fused_matmul.h"
#include "kernels/linalg/matmul.h"

namespace sluice {

void AddLinalgKernels(KernelRegistry& registry) {
  registry.AddTable(EinsumKernels());
  registry.AddTable(FusedMatMulKernels());
  registry.AddTable(MatMulKernels());
}

}  // namespace sluice

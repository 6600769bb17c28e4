#include "kernels/linalg/linalg_kernels.h"

#include "kernels/linalg/fused_matmul.h"
#include "kernels/linalg/matmul.h"

namespace sluice {

void AddLinalgKernels(KernelRegistry& registry) {
  registry.AddTable(FusedMatMulKernels());
  registry.AddTable(MatMulKernels());
}

}  // namespace sluice

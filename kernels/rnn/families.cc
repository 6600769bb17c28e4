#include "kernels/rnn/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddRnnKernels(KernelRegistry& registry) {
  registry.AddTable(LstmKernels());
  registry.AddTable(LstmGradKernels());
  registry.AddTable(GruKernels());
}

}  // namespace sluice

#include "kernels/queues/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddQueueKernels(KernelRegistry& registry) {
  registry.AddTable(QueueKernels());
  registry.AddTable(AccumulatorKernels());
  registry.AddTable(BarrierKernels());
  registry.AddTable(MutexKernels());
  registry.AddTable(StagingKernels());
  registry.AddTable(MapStagingKernels());
}

}  // namespace sluice

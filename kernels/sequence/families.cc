#include "kernels/sequence/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddSequenceKernels(KernelRegistry& registry) {
  registry.AddTable(CtcLossKernels());
  registry.AddTable(CtcGreedyDecoderKernels());
  registry.AddTable(CtcBeamSearchDecoderKernels());
  registry.AddTable(EditDistanceKernels());
  registry.AddTable(IsotonicRegressionKernels());
}

}  // namespace sluice

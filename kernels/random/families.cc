#include "kernels/random/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddRandomKernels(KernelRegistry& registry) {
  registry.AddTable(SeededNumbersKernels());
  registry.AddTable(StatelessNumbersKernels());
  registry.AddTable(StatefulNumbersKernels());
  registry.AddTable(MultinomialKernels());
  registry.AddTable(GammaKernels());
  registry.AddTable(PoissonKernels());
  registry.AddTable(BinomialKernels());
  registry.AddTable(ParameterizedNormalKernels());
  registry.AddTable(ShuffleKernels());
  registry.AddTable(IndexShuffleKernels());
  registry.AddTable(CandidateSamplerKernels());
  registry.AddTable(AccidentalHitsKernels());
}

}  // namespace sluice

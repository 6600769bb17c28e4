#include "kernels/math/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddMathKernels(KernelRegistry& registry) {
  registry.AddTable(ArithmeticKernels());
  registry.AddTable(DivisionKernels());
  registry.AddTable(ComparisonKernels());
  registry.AddTable(LogicKernels());
  registry.AddTable(UnaryKernels());
  registry.AddTable(ActivationKernels());
  registry.AddTable(GradientKernels());
  registry.AddTable(AddNKernels());
  registry.AddTable(CastKernels());
  registry.AddTable(SelectKernels());
  registry.AddTable(TrigonometryKernels());
  registry.AddTable(SpecialKernels());
  registry.AddTable(SoftmaxKernels());
  registry.AddTable(PowerKernels());
  registry.AddTable(ComplexPartsKernels());
  registry.AddTable(CheckNumericsKernels());
  registry.AddTable(BucketizeKernels());
  registry.AddTable(BroadcastArgsKernels());
  registry.AddTable(BitcastKernels());
  registry.AddTable(BiasKernels());
  registry.AddTable(CrossKernels());
  registry.AddTable(HistogramKernels());
}

}  // namespace sluice

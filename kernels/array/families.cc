#include "kernels/array/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddArrayKernels(KernelRegistry& registry) {
  registry.AddTable(BandKernels());
  registry.AddTable(BlockKernels());
  registry.AddTable(ConcatKernels());
  registry.AddTable(DiagonalKernels());
  registry.AddTable(DynamicStitchKernels());
  registry.AddTable(FillKernels());
  registry.AddTable(GatherKernels());
  registry.AddTable(GatherNdKernels());
  registry.AddTable(MirrorPadGradKernels());
  registry.AddTable(PadKernels());
  registry.AddTable(RepeatKernels());
  registry.AddTable(ReverseKernels());
  registry.AddTable(SearchKernels());
  registry.AddTable(ShapeKernels());
  registry.AddTable(SliceKernels());
  registry.AddTable(SplitKernels());
  registry.AddTable(TopKKernels());
  registry.AddTable(TransposeKernels());
  registry.AddTable(UniqueKernels());
  registry.AddTable(WhereKernels());
}

}  // namespace sluice

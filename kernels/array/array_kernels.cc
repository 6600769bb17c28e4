#include "kernels/array/array_kernels.h"

#include "kernels/array/concat.h"
#include "kernels/array/fill.h"
#include "kernels/array/gather.h"
#include "kernels/array/shape_ops.h"
#include "kernels/array/slice.h"
#include "kernels/array/split.h"
#include "kernels/array/transpose.h"

namespace sluice {

void AddArrayKernels(KernelRegistry& registry) {
  registry.AddTable(ConcatKernels());
  registry.AddTable(FillKernels());
  registry.AddTable(GatherKernels());
  registry.AddTable(ShapeKernels());
  registry.AddTable(SliceKernels());
  registry.AddTable(SplitKernels());
  registry.AddTable(TransposeKernels());
}

}  // namespace sluice

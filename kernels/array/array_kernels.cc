#include "kernels/array/array_kernels.h"

#include "kernels/array/band.h"
#include "kernels/array/blocks.h"
#include "kernels/array/concat.h"
#include "kernels/array/diagonal.h"
#include "kernels/array/dynamic_stitch.h"
#include "kernels/array/fill.h"
#include "kernels/array/gather.h"
#include "kernels/array/gather_nd.h"
#include "kernels/array/mirror_pad_grad.h"
#include "kernels/array/pad.h"
#include "kernels/array/repeat.h"
#include "kernels/array/reverse.h"
#include "kernels/array/search.h"
#include "kernels/array/shape_ops.h"
#include "kernels/array/slice.h"
#include "kernels/array/split.h"
#include "kernels/array/top_k.h"
#include "kernels/array/transpose.h"
#include "kernels/array/unique.h"
#include "kernels/array/where.h"

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

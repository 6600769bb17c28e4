#include "kernels/reduce/reduce_kernels.h"

#include "kernels/reduce/arg_extreme.h"
#include "kernels/reduce/extreme.h"
#include "kernels/reduce/product.h"
#include "kernels/reduce/scan.h"
#include "kernels/reduce/segment.h"
#include "kernels/reduce/sum.h"
#include "kernels/reduce/wide_sum.h"

namespace sluice {

void AddReduceKernels(KernelRegistry& registry) {
  registry.AddTable(ArgExtremeKernels());
  registry.AddTable(ExtremeKernels());
  registry.AddTable(ProductKernels());
  registry.AddTable(ScanKernels());
  registry.AddTable(SegmentKernels());
  registry.AddTable(SumKernels());
  registry.AddTable(WideSumKernels());
}

}  // namespace sluice

#include "kernels/linalg/tile_runs.h"

#include "kernels/linalg/gemm.h"

namespace sluice {

template <>
AddRunsFunction<float> BestAddRuns() {
  static const AddRunsFunction<float> function = BestIsaLevel() == IsaLevel::kAvx512 ? Avx512AddRunsFloat()
                                                 : BestIsaLevel() == IsaLevel::kAvx2 ? Avx2AddRunsFloat()
                                                                                     : BaselineAddRunsFloat();
  return function;
}

template <>
AddRunsFunction<double> BestAddRuns() {
  static const AddRunsFunction<double> function = BestIsaLevel() == IsaLevel::kAvx512 ? Avx512AddRunsDouble()
                                                  : BestIsaLevel() == IsaLevel::kAvx2 ? Avx2AddRunsDouble()
                                                                                      : BaselineAddRunsDouble();
  return function;
}

}  // namespace sluice

#include "kernels/linalg/channel_finish.h"

#include "kernels/linalg/gemm.h"

namespace sluice {

FinishFunction BestFinish() {
  static const FinishFunction function = BestIsaLevel() == IsaLevel::kAvx512 ? Avx512Finish()
                                         : BestIsaLevel() == IsaLevel::kAvx2 ? Avx2Finish()
                                                                             : BaselineFinish();
  return function;
}

}  // namespace sluice

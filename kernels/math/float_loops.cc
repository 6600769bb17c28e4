#include "kernels/math/float_loops.h"

namespace sluice {

const FloatLoops& BestFloatLoops() {
  static const FloatLoops& best = [&]() -> const FloatLoops& {
    const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    if (has_avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512bw") != 0) {
      return kAvx512FloatLoops;
    }
    return has_avx2 ? kAvx2FloatLoops : kBaseFloatLoops;
  }();
  return best;
}

}  // namespace sluice

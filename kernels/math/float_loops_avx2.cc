#include "kernels/math/float_loops.h"

namespace sluice {

constexpr FloatLoops kAvx2FloatLoops = MakeFloatLoops<Avx2Isa>("avx2", FloatUnaryOps(), FloatBinaryOps());

}  // namespace sluice

#include "kernels/math/float_loops.h"

namespace sluice {

constexpr FloatLoops kAvx512FloatLoops = MakeFloatLoops<Avx512Isa>("avx512", FloatUnaryOps(), FloatBinaryOps());

}  // namespace sluice

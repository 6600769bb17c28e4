#include "kernels/math/float_loops.h"

namespace sluice {

constexpr FloatLoops kBaseFloatLoops = MakeFloatLoops<BaseIsa>("base", FloatUnaryOps(), FloatBinaryOps());

}  // namespace sluice

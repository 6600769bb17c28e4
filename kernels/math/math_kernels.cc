#include "kernels/math/math_kernels.h"

#include "kernels/math/activation.h"
#include "kernels/math/add_n.h"
#include "kernels/math/arithmetic.h"
#include "kernels/math/bias.h"
#include "kernels/math/bitcast.h"
#include "kernels/math/broadcast_args.h"
#include "kernels/math/bucketize.h"
#include "kernels/math/cast.h"
#include "kernels/math/check_numerics.h"
#include "kernels/math/comparison.h"
#include "kernels/math/complex_parts.h"
#include "kernels/math/division.h"
#include "kernels/math/gradients.h"
#include "kernels/math/logic.h"
#include "kernels/math/power.h"
#include "kernels/math/select.h"
#include "kernels/math/softmax.h"
#include "kernels/math/special.h"
#include "kernels/math/trigonometry.h"
#include "kernels/math/unary.h"

namespace sluice {

void AddMathKernels(KernelRegistry& registry) {
  registry.AddTable(ArithmeticKernels());
  registry.AddTable(DivisionKernels());
  registry.AddTable(ComparisonKernels());
  registry.AddTable(LogicKernels());
  registry.AddTable(UnaryKernels());
  registry.AddTable(ActivationKernels());
  registry.AddTable(GradientKernels());
  registry.AddTable(AddNKernels());
  registry.AddTable(CastKernels());
  registry.AddTable(SelectKernels());
  registry.AddTable(TrigonometryKernels());
  registry.AddTable(SpecialKernels());
  registry.AddTable(SoftmaxKernels());
  registry.AddTable(PowerKernels());
  registry.AddTable(ComplexPartsKernels());
  registry.AddTable(CheckNumericsKernels());
  registry.AddTable(BucketizeKernels());
  registry.AddTable(BroadcastArgsKernels());
  registry.AddTable(BitcastKernels());
  registry.AddTable(BiasKernels());
}

}  // namespace sluice

#include "kernels/math/math_kernels.h"

#include "kernels/math/activation.h"
#include "kernels/math/add_n.h"
#include "kernels/math/arithmetic.h"
#include "kernels/math/cast.h"
#include "kernels/math/comparison.h"
#include "kernels/math/division.h"
#include "kernels/math/gradients.h"
#include "kernels/math/logic.h"
#include "kernels/math/select.h"
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
}

}  // namespace sluice

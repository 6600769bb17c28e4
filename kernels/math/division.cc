#include "kernels/math/division.h"

#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/division_ops.h"
#include "kernels/math/elementwise.h"

namespace sluice {
namespace {

using FloatAndComplex = Join<FloatCppTypes, ComplexCppTypes>;

constexpr KernelDef kKernels[] = {
    BinaryRow<DivOp, FloatAndComplex>("RealDiv"),
    BinaryRow<DivOp, FloatAndComplex>("Div"),
    BinaryRow<IntegerDivOp, IntegerCppTypes>("Div"),
    BinaryRow<DivNoNanOp, FloatAndComplex>("DivNoNan"),
    BinaryRow<TruncateDivOp, RealCppTypes>("TruncateDiv"),
    BinaryRow<FloorDivOp, RealCppTypes>("FloorDiv"),
    BinaryRow<ModOp, RealCppTypes>("Mod"),
    BinaryRow<FloorModOp, RealCppTypes>("FloorMod"),
    BinaryRow<TruncateModOp, RealCppTypes>("TruncateMod"),
};

}  // namespace

absl::Span<const KernelDef> DivisionKernels() { return kKernels; }

}  // namespace sluice

#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/division_ops.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

using FloatAndComplex = Join<FloatCppTypes, ComplexCppTypes>;

constexpr KernelRow kRows[] = {
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

absl::Span<const KernelRow> DivisionKernels() { return kRows; }

}  // namespace sluice

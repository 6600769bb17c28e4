#include "absl/strings/str_cat.h"
#include "graph/value/tstring.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// One string behind the other.
struct ConcatenateOp {
  static constexpr float kUnitNs = 50.0f;
  static TString Apply(const TString& a, const TString& b) { return TString(absl::StrCat(a.view(), b.view())); }
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeConcatenate(const KernelConstruction&) {
  return std::make_unique<BinaryKernel<ConcatenateOp, TString>>();
}

constexpr KernelRow kRows[] = {
    BinaryRow<AddOp, NumberCppTypes>("AddV2"),
    BinaryRow<AddOp, NumberCppTypes>("Add"),
    KernelRow("Add", &MakeConcatenate).Types("T", {DType::kString}),
    BinaryRow<SubOp, NumberCppTypes>("Sub"),
    BinaryRow<MulOp, NumberCppTypes>("Mul"),
    BinaryRow<MulNoNanOp, Join<FloatCppTypes, ComplexCppTypes>>("MulNoNan"),
    BinaryRow<MaximumOp, RealCppTypes>("Maximum"),
    BinaryRow<MinimumOp, RealCppTypes>("Minimum"),
    BinaryRow<SquaredDifferenceOp, NumberCppTypes>("SquaredDifference"),
};

}  // namespace

absl::Span<const KernelRow> ArithmeticKernels() { return kRows; }

}  // namespace sluice

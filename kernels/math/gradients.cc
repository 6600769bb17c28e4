#include "kernels/math/gradients.h"

#include "kernels/math/elementwise.h"

namespace sluice {
namespace {

using FloatAndComplex = Join<FloatCppTypes, ComplexCppTypes>;

// A binary op whose inputs must be of one shape.
template <typename Op, typename T>
class SameShapeKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Shape& a = context.input(0).shape();
    const Shape& b = context.input(1).shape();
    return a == b ? inner_.Compute(context) : NotSameShape(a, b);
  }

 private:
  const BinaryKernel<Op, T> inner_{};
};
template <typename Op>
struct SameShape {
  template <typename T>
  using Of = SameShapeKernel<Op, T>;
};
template <typename Op, typename CppTypes>
constexpr KernelDef SameShapeRow(absl::string_view op) {
  return {op, &MakeByInput0<SameShape<Op>::template Of, CppTypes>, {{"T", SetOf(CppTypes())}}};
}

constexpr KernelDef kKernels[] = {
    SameShapeRow<ReluGradOp, RealCppTypes>("ReluGrad"),
    SameShapeRow<Relu6GradOp, RealCppTypes>("Relu6Grad"),
    SameShapeRow<EluGradOp, FloatCppTypes>("EluGrad"),
    SameShapeRow<SeluGradOp, FloatCppTypes>("SeluGrad"),
    SameShapeRow<SoftplusGradOp, FloatCppTypes>("SoftplusGrad"),
    SameShapeRow<SoftsignGradOp, FloatCppTypes>("SoftsignGrad"),
    BinaryRow<TanhGradOp, FloatAndComplex>("TanhGrad"),
    BinaryRow<SigmoidGradOp, FloatAndComplex>("SigmoidGrad"),
    BinaryRow<ReciprocalGradOp, FloatAndComplex>("ReciprocalGrad"),
    BinaryRow<ReciprocalGradOp, FloatAndComplex>("InvGrad"),
    BinaryRow<SqrtGradOp, FloatAndComplex>("SqrtGrad"),
    BinaryRow<RsqrtGradOp, FloatAndComplex>("RsqrtGrad"),
};

}  // namespace

absl::Span<const KernelDef> GradientKernels() { return kKernels; }

}  // namespace sluice

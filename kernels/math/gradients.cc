#include "kernels/kernel.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

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
// A binary op whose inputs must have as many elements as each other; the result has the shape of the first.
template <typename Op, typename T>
class SameSizeKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    if (a.shape() == b.shape()) return inner_.Compute(context);
    if (a.num_elements() != b.num_elements()) return NotSameShape(a.shape(), b.shape());
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.AllocateOutput(0, a.shape()));
    const BinaryLoops& loops = BinaryLoopsFor<Op, T>();
    loops.both(a.raw_data(), b.raw_data(), y->mutable_raw_data(), a.num_elements());
    return absl::OkStatus();
  }

 private:
  const BinaryKernel<Op, T> inner_{};
};
template <typename Op>
struct SameSize {
  template <typename T>
  using Of = SameSizeKernel<Op, T>;
};
template <typename Op, typename CppTypes>
constexpr KernelRow SameSizeRow(absl::string_view op) {
  return KernelRow(op, &NewByType<SameSize<Op>::template Of, CppTypes>).Types("T", SetOf(CppTypes()));
}

template <typename Op>
struct SameShape {
  template <typename T>
  using Of = SameShapeKernel<Op, T>;
};
template <typename Op, typename CppTypes>
constexpr KernelRow SameShapeRow(absl::string_view op) {
  return KernelRow(op, &NewByType<SameShape<Op>::template Of, CppTypes>).Types("T", SetOf(CppTypes()));
}

constexpr KernelRow kRows[] = {
    SameShapeRow<ReluGradOp, RealCppTypes>("ReluGrad"),
    SameShapeRow<Relu6GradOp, RealCppTypes>("Relu6Grad"),
    SameShapeRow<EluGradOp, FloatCppTypes>("EluGrad"),
    SameShapeRow<SeluGradOp, FloatCppTypes>("SeluGrad"),
    SameShapeRow<SoftplusGradOp, FloatCppTypes>("SoftplusGrad"),
    SameShapeRow<SoftsignGradOp, FloatCppTypes>("SoftsignGrad"),
    SameSizeRow<TanhGradOp, FloatAndComplex>("TanhGrad"),
    SameSizeRow<SigmoidGradOp, FloatAndComplex>("SigmoidGrad"),
    SameSizeRow<ReciprocalGradOp, FloatAndComplex>("ReciprocalGrad"),
    SameSizeRow<ReciprocalGradOp, FloatAndComplex>("InvGrad"),
    SameSizeRow<SqrtGradOp, FloatAndComplex>("SqrtGrad"),
    SameSizeRow<RsqrtGradOp, FloatAndComplex>("RsqrtGrad"),
};

}  // namespace

absl::Span<const KernelRow> GradientKernels() { return kRows; }

}  // namespace sluice

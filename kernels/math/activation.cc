#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

using FloatAndComplex = Join<FloatCppTypes, ComplexCppTypes>;

// x below 0 is multiplied by the attr alpha.
template <typename T>
class LeakyReluKernel : public Kernel {
 public:
  explicit LeakyReluKernel(float alpha) : alpha_(static_cast<T>(alpha)) {}
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& x = context.input(0);
    const Shape shape = x.shape();
    const T* const in = x.flat<T>().data();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, shape, {0}));
    T* const out = y->flat<T>().data();
    const BinaryLoops& loops = BinaryLoopsFor<LeakyReluOp, T>();
    ForShards(context, shape.num_elements(), loops.unit_ns,
              [&](int64_t begin, int64_t end) { loops.repeat_b(in + begin, &alpha_, out + begin, end - begin); });
    return absl::OkStatus();
  }

 private:
  const T alpha_;
};

// The gradient where x is above 0, alpha of it elsewhere.
template <typename T>
class LeakyReluGradKernel : public Kernel {
 public:
  explicit LeakyReluGradKernel(float alpha) : alpha_(static_cast<ComputeType<T>>(alpha)) {}
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& gradient = context.input(0);
    const Tensor& x = context.input(1);
    if (gradient.shape() != x.shape()) return NotSameShape(gradient.shape(), x.shape());
    const Shape shape = x.shape();
    const T* const dy = gradient.flat<T>().data();
    const T* const in = x.flat<T>().data();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, shape, {0, 1}));
    T* const out = y->flat<T>().data();
    using C = ComputeType<T>;
    ForShards(context, shape.num_elements(), 0.5f, [&](int64_t begin, int64_t end) {
      SLUICE_INDEPENDENT_LOOP
      for (int64_t i = begin; i < end; ++i) {
        const C full = static_cast<C>(dy[i]);
        out[i] = static_cast<C>(in[i]) > C(0) ? T(full) : T(full * alpha_);
      }
    });
    return absl::OkStatus();
  }

 private:
  const ComputeType<T> alpha_;
};

absl::StatusOr<float> ReadAlpha(const KernelConstruction& construction) { return construction.Get<float>("alpha"); }

constexpr KernelRow kRows[] = {
    UnaryRow<TanhOp, FloatAndComplex>("Tanh"),
    UnaryRow<SigmoidOp, FloatAndComplex>("Sigmoid"),
    UnaryRow<ReluOp, RealCppTypes>("Relu"),
    UnaryRow<Relu6Op, RealCppTypes>("Relu6"),
    UnaryRow<EluOp, FloatCppTypes>("Elu"),
    UnaryRow<SeluOp, FloatCppTypes>("Selu"),
    UnaryRow<SoftplusOp, FloatCppTypes>("Softplus"),
    UnaryRow<SoftsignOp, FloatCppTypes>("Softsign"),
    KernelRow("LeakyRelu", &NewByTypeWith<LeakyReluKernel, FloatCppTypes, ReadAlpha>).Types("T", kFloatTypes),
    KernelRow("LeakyReluGrad", &NewByTypeWith<LeakyReluGradKernel, FloatCppTypes, ReadAlpha>).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> ActivationKernels() { return kRows; }

}  // namespace sluice

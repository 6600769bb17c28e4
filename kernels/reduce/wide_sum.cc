#include <complex>
#include <memory>
#include <type_traits>

#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/channels.h"
#include "kernels/new_kernel.h"
#include "kernels/reduce/families.h"
#include "kernels/reduce/reduce_engine.h"
#include "kernels/reduce/reduce_ops.h"

namespace sluice {
namespace {

// The accumulator type for sums of T: twice as wide or wider, so that the order of the elements does not show. Integers
// wrap.
template <typename T>
using WideAcc =
    std::conditional_t<std::is_integral<T>::value, T, std::conditional_t<kIsComplex<T>, std::complex<double>, double>>;

template <typename Element>
struct WideSumOp {
  using T = Element;
  using Acc = WideAcc<T>;
  static Acc Identity() { return Acc(0); }
  static Acc Load(T x) { return static_cast<Acc>(static_cast<ComputeType<T>>(x)); }
  static Acc Combine(Acc a, Acc b) { return static_cast<Acc>(a + b); }
  static T Finish(Acc acc, int64_t) { return static_cast<T>(static_cast<ComputeType<T>>(acc)); }
};

// Half the sum of the squares.
template <typename Element>
struct HalfSquaresOp {
  using T = Element;
  using Acc = double;
  static Acc Identity() { return 0.0; }
  static Acc Load(T x) {
    const double wide = static_cast<double>(static_cast<ComputeType<T>>(x));
    return wide * wide;
  }
  static Acc Combine(Acc a, Acc b) { return a + b; }
  static T Finish(Acc acc, int64_t) { return static_cast<T>(static_cast<ComputeType<T>>(0.5 * acc)); }
};

// --- BiasAddGrad -------------------------------------------------------------------------------------------------

// [outer, channels, inner] summed into [channels].
struct ChannelPlan {
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;
};
using ChannelSumFn = void (*)(const KernelContext& context, const ChannelPlan& plan, const Tensor& source,
                              Tensor& output);

template <typename Op>
void SumChannels(const KernelContext& context, const ChannelPlan& plan, const Tensor& source, Tensor& output) {
  if (plan.inner == 1) {
    ReducePlan columns;
    columns.reduced = plan.outer;
    columns.inner = plan.channels;
    ReduceWith<Op>(context, columns, source, output);
    return;
  }
  using T = typename Op::T;
  const T* const x = static_cast<const T*>(source.raw_data());
  T* const y = static_cast<T*>(output.mutable_raw_data());
  const double channel_ns = reduce_internal::kElementNs<Op> * static_cast<double>(plan.outer * plan.inner);
  context.ParallelFor(plan.channels, channel_ns, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) {
      reduce_internal::PairStack<Op> stack;
      stack.Push(Op::Identity());
      for (int64_t slab = 0; slab < plan.outer; ++slab) {
        const T* const run = x + (slab * plan.channels + channel) * plan.inner;
        stack.Push(reduce_internal::ReduceRun<Op>(run, plan.inner));
      }
      y[channel] = Op::Finish(stack.Join(), plan.outer * plan.inner);
    }
  });
}

// The sum over all axes but that of the channels. Thread-safe.
class BiasAddGradKernel final : public Kernel {
 public:
  BiasAddGradKernel(ChannelSumFn sum, bool channels_come_second)
      : sum_(sum), channels_come_second_(channels_come_second) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const bool channels_come_second, ReadChannelsComeSecond(construction));
    const DType dtype = construction.input_type(0);
    ChannelSumFn found = nullptr;
    const auto choose = [&](auto type) { found = &SumChannels<WideSumOp<typename decltype(type)::Type>>; };
    if (!DispatchDType<Join<FloatCppTypes, ComplexCppTypes>>(dtype, choose)) {
      DispatchSize(DTypeSize(dtype), [&](auto type) {  // Integers of one size add up to the same bits.
        using T = typename decltype(type)::Type;
        if constexpr (std::is_integral<T>::value) found = &SumChannels<WideSumOp<T>>;
      });
    }
    if (found == nullptr) return Error(ErrorCode::kOpUnimplemented).Found(DTypeName(dtype));
    return std::make_unique<BiasAddGradKernel>(found, channels_come_second);
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    const Shape& shape = input.shape();
    if (shape.rank() < 2) return ShapeError(0, "", shape, "at least 2 axes");
    const int axis = channels_come_second_ ? 1 : shape.rank() - 1;
    ChannelPlan plan;
    plan.outer = SizeOfAxes(shape, 0, axis);
    plan.channels = shape.dim(axis);
    plan.inner = SizeOfAxes(shape, axis + 1, shape.rank());
    SLUICE_ASSIGN_OR_RETURN(const Shape result, MakeShape({plan.channels}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, result));
    if (plan.channels > 0) sum_(context, plan, input, *output);
    return absl::OkStatus();
  }

 private:
  const ChannelSumFn sum_;
  const bool channels_come_second_;
};

// --- L2Loss ------------------------------------------------------------------------------------------------------

using LossFn = void (*)(const KernelContext& context, const ReducePlan& plan, const Tensor& source, Tensor& output);

// Half the sum of the squares. Thread-safe.
class L2LossKernel final : public Kernel {
 public:
  explicit L2LossKernel(LossFn sum) : sum_(sum) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    LossFn found = nullptr;
    DispatchDType<FloatCppTypes>(construction.input_type(0),
                                 [&](auto type) { found = &ReduceWith<HalfSquaresOp<typename decltype(type)::Type>>; });
    if (found == nullptr) return Error(ErrorCode::kOpUnimplemented).Found(DTypeName(construction.input_type(0)));
    return std::make_unique<L2LossKernel>(found);
  }

  absl::Status Compute(KernelContext& context) const override {
    ReducePlan plan;
    plan.reduced = context.input(0).num_elements();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, Shape()));
    sum_(context, plan, context.input(0), *output);
    return absl::OkStatus();
  }

 private:
  const LossFn sum_;
};

constexpr KernelRow kRows[] = {
    KernelRow("BiasAddGrad", &New<BiasAddGradKernel>).Types("T", kNumberTypes),
    KernelRow("L2Loss", &New<L2LossKernel>).Types("T", kFloatTypes),
};

}  // namespace

absl::Span<const KernelRow> WideSumKernels() { return kRows; }

}  // namespace sluice

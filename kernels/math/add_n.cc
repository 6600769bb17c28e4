#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "graph/value/variant.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/math/arithmetic_ops.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"
#include "kernels/new_kernel.h"
#include "kernels/variant_functions.h"

namespace sluice {
namespace {

// Elements that are summed over all inputs before the next ones are: the partial sums stay in the first-level cache.
constexpr int64_t kBlock = 2048;

// The sum of all inputs that this call has (a GradSum's are those that are live), from first to last. Half and BFloat16
// are rounded after each addition.
template <typename T>
class AddNKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const int count = context.num_inputs();
    if (count < 1) return AttrError("N", "0", "1 or more");
    if (count == 1) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    if (AllInlineScalars(context)) {
      bool ok = true;
      T sum = LoadScalar<T>(context.input(0));
      for (int i = 1; i < count; ++i) sum = InvokeBinary<AddOp, T>(sum, LoadScalar<T>(context.input(i)), ok);
      context.SetScalar(0, sum);
      return absl::OkStatus();
    }
    const Shape shape = context.input(0).shape();
    absl::InlinedVector<const T*, 8> inputs;
    for (int i = 0; i < count; ++i) {
      if (context.input(i).shape() != shape) return NotSameShape(shape, context.input(i).shape());
      inputs.push_back(context.input(i).flat<T>().data());
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, shape, {0, 1}));
    T* const out = y->flat<T>().data();
    const BinaryLoop add = BinaryLoopsFor<AddOp, T>().both;
    ForShards(context, shape.num_elements(), 0.2f * static_cast<float>(count), [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += kBlock) {
        const int64_t n = std::min(kBlock, end - at);
        add(inputs[0] + at, inputs[1] + at, out + at, n);
        for (size_t i = 2; i < inputs.size(); ++i) add(out + at, inputs[i] + at, out + at, n);
      }
    });
    return absl::OkStatus();
  }

 private:
  static bool AllInlineScalars(const KernelContext& context) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (!IsInlineScalar(context.input(i))) return false;
    }
    return true;
  }
};

// The sum of variants, from first to last, by the function of their type. As TensorFlow's: of scalars only.
absl::Status ComputeAddVariants(KernelContext& context) {
  const int count = context.num_inputs();
  if (count < 1) return AttrError("N", "0", "1 or more");
  if (count == 1) {
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }
  for (int i = 0; i < count; ++i) {
    if (context.input(i).rank() == 0) continue;
    return ShapeError(i, "", context.input(i).shape(), "a scalar variant");
  }
  Variant sum = context.input(0).flat<Variant>()[0];
  for (int i = 1; i < count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(sum, AddVariants(context, sum, context.input(i).flat<Variant>()[0]));
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.AllocateOutput(0, Shape()));
  y->flat<Variant>()[0] = std::move(sum);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("AddN", &NewByType<AddNKernel, NumberCppTypes>).Types("T", kNumberTypes),
    KernelRow("AddN", &Call<ComputeAddVariants>).Types("T", {DType::kVariant}),
    KernelRow("AccumulateNV2", &NewByType<AddNKernel, NumberCppTypes>).Types("T", kNumberTypes),
    KernelRow("GradSum", &NewByType<AddNKernel, NumberCppTypes>).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> AddNKernels() { return kRows; }

}  // namespace sluice

#include <memory>
#include <string>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/state/families.h"
#include "kernels/state/stack.h"

namespace sluice {
namespace {

// Makes a stack: a new one in each step and each iteration.
class StackKernel : public Kernel {
 public:
  StackKernel(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

  absl::Status Compute(KernelContext& context) const override {
    int64_t max_size = -1;
    if (context.num_inputs() == 1) {
      SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "max_size"));
      max_size = context.input(0).flat<int32_t>()[0];
    }
    CountedPtr<Stack> stack = MakeCounted<Stack>(StepUniqueName(context, name_), dtype_, max_size);
    SLUICE_RETURN_IF_ERROR(CloseAtStepEnd(context, dtype_, stack));
    return SetStepHandle(context, 0, std::move(stack));
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const std::string name_;
  const DType dtype_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeStack(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(std::string name, construction.Get<std::string>("stack_name"));
  SLUICE_ASSIGN_OR_RETURN(const DType dtype, construction.Get<DType>("elem_type"));
  if (name.empty()) name = std::string(construction.name());
  return std::make_unique<StackKernel>(std::move(name), dtype);
}

absl::Status PushTo(Stack& stack, KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(stack.Push(context.input(1), context.allocator()));
  context.SetOutput(0, context.TakeInput(1));
  return absl::OkStatus();
}

// The fast path for single numbers, which is mostly what loops push for their gradients.
template <typename T>
bool PopScalar(Stack& stack, KernelContext& context) {
  T value;
  if (!stack.PopScalar(DTypeOf<T>::value, sizeof(T), &value)) return false;
  context.SetScalar(0, value);
  return true;
}

bool PopScalarOfOutput(Stack& stack, KernelContext& context) {
  switch (context.output_type(0)) {
    case DType::kFloat:
      return PopScalar<float>(stack, context);
    case DType::kDouble:
      return PopScalar<double>(stack, context);
    case DType::kInt32:
      return PopScalar<int32_t>(stack, context);
    case DType::kInt64:
      return PopScalar<int64_t>(stack, context);
    case DType::kBool:
      return PopScalar<bool>(stack, context);
    default:
      return false;
  }
}

absl::Status PopFrom(Stack& stack, KernelContext& context) {
  if (PopScalarOfOutput(stack, context)) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(Tensor value, stack.Pop(context.allocator()));
  if (value.dtype() != context.output_type(0)) {
    return Error(ErrorCode::kOutputType)
        .Found(DTypeName(value.dtype()))
        .Expected(DTypeName(context.output_type(0)))
        .Text("the stack holds another dtype");
  }
  context.SetOutput(0, std::move(value));
  return absl::OkStatus();
}

// Handles of StackV2 hold their stack, which need not be counted while the kernel runs.
template <absl::Status (*kDo)(Stack&, KernelContext&)>
absl::Status WithStack(KernelContext& context) {
  if (Stack* const held = HeldByInput<Stack>(context, 0)) return kDo(*held, context);
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Stack> stack, LookupStepInput<Stack>(context, 0));
  return kDo(*stack, context);
}

absl::Status ComputeClose(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Stack> stack, LookupStepInput<Stack>(context, 0));
  stack->Close();
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("Stack", &MakeStack),
    KernelRow("StackV2", &MakeStack),
    KernelRow("StackPush", &Call<WithStack<PushTo>>).Cheap(),
    KernelRow("StackPushV2", &Call<WithStack<PushTo>>).Cheap(),
    KernelRow("StackPop", &Call<WithStack<PopFrom>>).Cheap(),
    KernelRow("StackPopV2", &Call<WithStack<PopFrom>>).Cheap(),
    KernelRow("StackClose", &Call<ComputeClose>).Cheap(),
    KernelRow("StackCloseV2", &Call<ComputeClose>).Cheap(),
};

}  // namespace

absl::Span<const KernelRow> StackKernels() { return kRows; }

}  // namespace sluice

#include <memory>
#include <string>
#include <utility>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
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
      if (!context.input(0).shape().IsScalar()) {
        return Error(ErrorCode::kOpShape)
            .Input(0, "max_size")
            .Found(context.input(0).shape().ToString())
            .Expected("a scalar");
      }
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

absl::Status ComputePush(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Stack> stack, LookupStepInput<Stack>(context, 0));
  Tensor value = context.TakeInput(1);
  SLUICE_RETURN_IF_ERROR(stack->Push(value, context.allocator()));
  context.SetOutput(0, std::move(value));
  return absl::OkStatus();
}

absl::Status ComputePop(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Stack> stack, LookupStepInput<Stack>(context, 0));
  SLUICE_ASSIGN_OR_RETURN(Tensor value, stack->Pop(context.allocator()));
  if (value.dtype() != context.output_type(0)) {
    return Error(ErrorCode::kOutputType)
        .Found(DTypeName(value.dtype()))
        .Expected(DTypeName(context.output_type(0)))
        .Text("the stack holds another dtype");
  }
  context.SetOutput(0, std::move(value));
  return absl::OkStatus();
}

absl::Status ComputeClose(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Stack> stack, LookupStepInput<Stack>(context, 0));
  stack->Close();
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("Stack", &MakeStack),
    KernelRow("StackV2", &MakeStack),
    KernelRow("StackPush", &Call<ComputePush>).Cheap(),
    KernelRow("StackPushV2", &Call<ComputePush>).Cheap(),
    KernelRow("StackPop", &Call<ComputePop>).Cheap(),
    KernelRow("StackPopV2", &Call<ComputePop>).Cheap(),
    KernelRow("StackClose", &Call<ComputeClose>).Cheap(),
    KernelRow("StackCloseV2", &Call<ComputeClose>).Cheap(),
};

}  // namespace

absl::Span<const KernelRow> StackKernels() { return kRows; }

}  // namespace sluice

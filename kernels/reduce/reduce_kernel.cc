#include "kernels/reduce/reduce_kernel.h"

#include <utility>

#include "graph/base/error.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<Kernel>> ReduceKernel::Make(const KernelConstruction& construction, ReduceFn reduce,
                                                           bool keeps_single) {
  if (reduce == nullptr) return Error(ErrorCode::kOpUnimplemented).Found(DTypeName(construction.input_type(0)));
  SLUICE_ASSIGN_OR_RETURN(const bool keep_dims, construction.Get<bool>("keep_dims"));
  return std::make_unique<ReduceKernel>(reduce, keep_dims, keeps_single);
}

absl::Status ReduceKernel::Compute(KernelContext& context) const {
  SLUICE_ASSIGN_OR_RETURN(ReducePlan plan, PlanReduction(context, context.input(0).shape(), 1, keep_dims_));
  if (keeps_single_ && plan.reduced == 1) {
    SLUICE_ASSIGN_OR_RETURN(Tensor same, context.TakeInput(0).Reshaped(plan.shape));
    context.SetOutput(0, std::move(same));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, plan.shape));
  // There may be any number of rows without elements.
  if (output->num_elements() == 0) return absl::OkStatus();
  if (!plan.is_mixed) {
    reduce_(context, plan, context.input(0), *output);
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor ordered,
                          context.AllocateTemp(context.input(0).dtype(), Shape::Of({plan.outer, plan.reduced})));
  CopyStrided(context, plan.order, ordered, 0, context.input(0), 0);
  reduce_(context, plan, ordered, *output);
  return absl::OkStatus();
}

}  // namespace sluice

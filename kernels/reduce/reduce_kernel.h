#ifndef SLUICE_KERNELS_REDUCE_REDUCE_KERNEL_H_
#define SLUICE_KERNELS_REDUCE_REDUCE_KERNEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/reduce/reduce_plan.h"

namespace sluice {

// Reduces `source`, whose elements lie as the plan's loops say, into `output`. REQUIRES: !plan.is_mixed.
using ReduceFn = void (*)(const KernelContext& context, const ReducePlan& plan, const Tensor& source, Tensor& output);

// Sum and its kin: input 0 reduced over the axes of input 1, with attr keep_dims. All but the arithmetic, which is a
// function made from reduce_engine.h. Thread-safe.
class ReduceKernel final : public Kernel {
 public:
  // `keeps_single`: one element alone is its own result, so that nothing is computed where nothing is reduced.
  ReduceKernel(ReduceFn reduce, bool keep_dims, bool keeps_single)
      : reduce_(reduce), keep_dims_(keep_dims), keeps_single_(keeps_single) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction, ReduceFn reduce,
                                                      bool keeps_single);

  absl::Status Compute(KernelContext& context) const override;

 private:
  const ReduceFn reduce_;
  const bool keep_dims_;
  const bool keeps_single_;
};

// The factory of a row: `kOf` gives the function for the dtype of input 0, or null.
template <ReduceFn (*kOf)(DType), bool kKeepsSingle = true>
absl::StatusOr<std::unique_ptr<Kernel>> NewReduction(const KernelConstruction& construction) {
  return ReduceKernel::Make(construction, kOf(construction.input_type(0)), kKeepsSingle);
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_REDUCE_KERNEL_H_

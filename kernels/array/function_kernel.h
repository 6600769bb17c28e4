#ifndef SLUICE_KERNELS_ARRAY_FUNCTION_KERNEL_H_
#define SLUICE_KERNELS_ARRAY_FUNCTION_KERNEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// A kernel that needs no attr: one function. Most ops of the shape family are such.
//
//   absl::Status ComputeSize(KernelContext& context);
//   constexpr KernelDef kKernels[] = {{"Size", &MakeFunctionKernel<ComputeSize, CostHint::kCheap>}};
//
// Thread-safe, as kernels are: the function keeps nothing.
template <absl::Status (*kCompute)(KernelContext& context), CostHint kHint>
class FunctionKernel final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override { return kCompute(context); }
  CostHint cost_hint() const override { return kHint; }
};

template <absl::Status (*kCompute)(KernelContext& context), CostHint kHint = CostHint::kByBytes>
absl::StatusOr<std::unique_ptr<Kernel>> MakeFunctionKernel(const KernelConstruction&) {
  return std::make_unique<FunctionKernel<kCompute, kHint>>();
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_FUNCTION_KERNEL_H_

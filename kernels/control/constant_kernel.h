#ifndef SLUICE_KERNELS_CONTROL_CONSTANT_KERNEL_H_
#define SLUICE_KERNELS_CONTROL_CONSTANT_KERNEL_H_

#include <utility>

#include "absl/status/status.h"
#include "graph/value/tensor.h"
#include "kernels/kernel.h"

namespace sluice {

// The kernel of a constant: the same value in every run. Immutable; thread-safe.
class ConstantKernel final : public Kernel {
 public:
  explicit ConstantKernel(Tensor value) : value_(std::move(value)) {}

  absl::Status Compute(KernelContext& context) const override {
    context.SetOutput(0, value_);
    return absl::OkStatus();
  }
  const Tensor* ConstantValue() const override { return &value_; }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const Tensor value_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_CONTROL_CONSTANT_KERNEL_H_

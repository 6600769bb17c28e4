#include "executor/constant_kernel.h"

#include <utility>

namespace sluice {
namespace {

// See NewConstantKernel. Immutable; thread-safe.
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

}  // namespace

std::shared_ptr<const Kernel> NewConstantKernel(Tensor value) {
  return std::make_shared<const ConstantKernel>(std::move(value));
}

}  // namespace sluice

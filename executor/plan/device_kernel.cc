#include "executor/plan/device_kernel.h"

#include <utility>

namespace sluice {

RunContext RunOn(Device& device, const RunContext& run) {
  RunContext moved = run;
  moved.device = &device;
  moved.resources = &device.resources();
  return moved;
}

KernelContext CallIn(const RunContext& run, KernelContext& context) {
  KernelContext moved(run, context.tables());
  moved.SetNode(context.io());
  moved.SetPlace(context.frame_id(), context.iteration());
  moved.SetInputDead(context.is_input_dead());
  return moved;
}

namespace {

// See OnDevice. Immutable; thread-safe.
class DeviceKernel final : public Kernel {
 public:
  DeviceKernel(std::shared_ptr<const Kernel> kernel, Device& device) : kernel_(std::move(kernel)), device_(device) {}

  absl::Status Compute(KernelContext& context) const override {
    const RunContext run = RunOn(device_, context.run());
    KernelContext moved = CallIn(run, context);
    return kernel_->Compute(moved);
  }
  const Tensor* ConstantValue() const override { return kernel_->ConstantValue(); }
  CostHint cost_hint() const override { return kernel_->cost_hint(); }
  const Kernel& inside() const { return *kernel_; }

 private:
  const std::shared_ptr<const Kernel> kernel_;
  Device& device_;
};

// See OnDevice. Immutable; thread-safe.
class AsyncDeviceKernel final : public AsyncKernel {
 public:
  AsyncDeviceKernel(std::shared_ptr<const Kernel> kernel, Device& device)
      : kernel_(std::move(kernel)), device_(device) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    auto call = std::make_unique<Call>(device_, context);
    KernelContext& moved = call->context;
    kernel_->AsAsync()->ComputeAsync(moved, [call = std::move(call), done = std::move(done)](
                                                absl::Status status) mutable { done(std::move(status)); });
  }
  CostHint cost_hint() const override { return kernel_->cost_hint(); }
  const Kernel& inside() const { return *kernel_; }

 private:
  // Owns what the kernel uses until it is done.
  struct Call {
    Call(Device& device, KernelContext& of_run) : run(RunOn(device, of_run.run())), context(CallIn(run, of_run)) {}
    const RunContext run;
    KernelContext context;
  };

  const std::shared_ptr<const Kernel> kernel_;
  Device& device_;
};

}  // namespace

std::shared_ptr<const Kernel> OnDevice(std::shared_ptr<const Kernel> kernel, Device& device) {
  if (kernel->AsAsync() != nullptr) return std::make_shared<const AsyncDeviceKernel>(std::move(kernel), device);
  return std::make_shared<const DeviceKernel>(std::move(kernel), device);
}

const Kernel& KernelInside(const Kernel& kernel) {
  if (const auto* const moved = dynamic_cast<const DeviceKernel*>(&kernel)) return moved->inside();
  const auto* const moved = dynamic_cast<const AsyncDeviceKernel*>(&kernel);
  return moved != nullptr ? moved->inside() : kernel;
}

}  // namespace sluice

#ifndef SLUICE_TESTS_TESTING_FUNCTION_KERNEL_H_
#define SLUICE_TESTS_TESTING_FUNCTION_KERNEL_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "kernels/kernel.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// A kernel that is a function. Thread-safe when that is.
class FunctionKernel final : public Kernel {
 public:
  using Function = std::function<absl::Status(KernelContext& context)>;

  explicit FunctionKernel(Function function, CostHint hint) : function_(std::move(function)), hint_(hint) {}
  absl::Status Compute(KernelContext& context) const override { return function_(context); }
  CostHint cost_hint() const override { return hint_; }

 private:
  const Function function_;
  const CostHint hint_;
};

// The same, asynchronous as far as others can tell: done before ComputeAsync returns. Thread-safe when the function is.
class AsyncFunctionKernel final : public AsyncKernel {
 public:
  explicit AsyncFunctionKernel(FunctionKernel::Function function) : function_(std::move(function)) {}
  void ComputeAsync(KernelContext& context, Done done) const override { done(function_(context)); }

 private:
  const FunctionKernel::Function function_;
};

// For OwnedKernelRow: each node gets such a kernel.
inline KernelFunction MakeFunction(FunctionKernel::Function function, CostHint hint = CostHint::kByBytes) {
  return [function = std::move(function), hint](const KernelConstruction&) {
    return std::make_unique<FunctionKernel>(function, hint);
  };
}
inline KernelFunction MakeAsyncFunction(FunctionKernel::Function function) {
  return [function = std::move(function)](const KernelConstruction&) {
    return std::make_unique<AsyncFunctionKernel>(function);
  };
}

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_FUNCTION_KERNEL_H_

#ifndef SLUICE_KERNELS_KERNEL_H_
#define SLUICE_KERNELS_KERNEL_H_

// The implementation of an op on a device.
//
// Note [Kernel contract]
// A kernel is made once per plan from the attrs of its node (KernelConstruction) and then called by any number of runs
// at once, so Compute is const. What it needs beyond its inputs (resources, the rendezvous, threads) comes through the
// KernelContext. A kernel
//   1. checks shapes and values of its inputs before it touches memory (dtypes follow from the signature and need no
//      check), with checked arithmetic on sizes (graph/base/checked_math.h);
//   2. gets its outputs from the context: SetOutput, SetScalar, AllocateOutput, or ForwardOrAllocate to work in place;
//   3. reports errors by Error(ErrorCode::kOp...).Input(i).Found(...).Expected(...): the caller adds the node's name
//      and op;
//   4. never waits (an AsyncKernel does that), never recurses in the data, and keeps nothing of a run.

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "kernels/cost_hint.h"
#include "kernels/kernel_context.h"

namespace sluice {

class AsyncKernel;

// One op with its attrs. See Note [Kernel contract].
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // Thread-safe.
  virtual absl::Status Compute(KernelContext& context) const = 0;

  // This kernel as an asynchronous one, or null.
  virtual const AsyncKernel* AsAsync() const { return nullptr; }
  // The value of output 0 when it is the same in every run, or null. Then Compute need not be called.
  virtual const Tensor* ConstantValue() const { return nullptr; }
  // The row's hint, unless the kernel overrides it.
  virtual CostHint cost_hint() const { return row_cost_; }

  // For registries, before the kernel is shared.
  void SetRowCost(CostHint cost) { row_cost_ = cost; }

 private:
  CostHint row_cost_ = CostHint::kByBytes;
};

// A kernel that may have to wait: for another node, device or process. Never holds a thread while it does.
class AsyncKernel : public Kernel {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // Starts, and calls `done` exactly once, on any thread, perhaps before it returns. `context` lives until then.
  virtual void ComputeAsync(KernelContext& context, Done done) const = 0;

  // Not for asynchronous kernels: an error.
  absl::Status Compute(KernelContext& context) const final;
  const AsyncKernel* AsAsync() const final { return this; }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_KERNEL_H_

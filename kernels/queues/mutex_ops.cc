#include <memory>
#include <utility>

#include "graph/base/error.h"
#include "graph/value/variant.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/queues/families.h"
#include "kernels/queues/mutex_resource.h"
#include "kernels/queues/named_resource.h"
#include "kernels/state/handles.h"

namespace sluice {
namespace {

// The handle of a mutex, which is made in the first run.
class MutexKernel final : public Kernel {
 public:
  explicit MutexKernel(ResourceName name) : name_(std::move(name)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(ResourceName name, ResourceName::Make(construction, MutexResource::kTypeName));
    return std::make_unique<MutexKernel>(std::move(name));
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(name_.LookupOrCreate<MutexResource>(context).status());
    name_.SetHandle(context);
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const ResourceName name_;
};

// Waits for the mutex. Its output holds it.
class MutexLockKernel final : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<MutexResource>> mutex = LookupInput<MutexResource>(context, 0);
    if (!mutex.ok()) return done(mutex.status());
    (*mutex)->Lock(context.run().cancellation,
                   [&context, done = std::move(done)](absl::Status status, Variant lock) mutable {
                     if (status.ok()) context.SetOutput(0, Tensor::Of<Variant>(Shape(), {std::move(lock)}));
                     done(std::move(status));
                   });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// Keeps the mutex until here, and lets go of it where this is the last user of the lock.
absl::Status ConsumeLock(KernelContext& context) {
  const Tensor lock = context.TakeInput(0);
  if (!lock.shape().IsScalar()) return ShapeError(0, "mutex_lock", lock.shape(), "a scalar");
  if (lock.flat<Variant>()[0].Get<MutexLockValue>() != nullptr) return absl::OkStatus();
  return Error(ErrorCode::kOpValue).Input(0, "mutex_lock").Expected("the lock of a mutex, from MutexLock");
}

constexpr KernelRow kRows[] = {
    KernelRow("MutexV2", &New<MutexKernel>),
    KernelRow("MutexLock", &New<MutexLockKernel>),
    KernelRow("ConsumeMutexLock", &Call<ConsumeLock>).Cheap(),
};

}  // namespace

absl::Span<const KernelRow> MutexKernels() { return kRows; }

}  // namespace sluice

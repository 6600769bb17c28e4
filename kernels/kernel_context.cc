#include "kernels/kernel_context.h"

#include "graph/base/cancellation.h"
#include "kernels/device/shard_plan.h"
#include "kernels/device/task_runner.h"

namespace sluice {

absl::StatusOr<Tensor*> KernelContext::AllocateOutput(int i, const Shape& shape) {
  absl::StatusOr<Tensor> made = Tensor::Make(BaseType(output_type(i)), shape, allocator());
  if (!made.ok()) return made.status();
  Entry& entry = output_entry(i);
  entry.SetValue(*std::move(made));
  return &entry.value();
}

absl::StatusOr<Tensor*> KernelContext::ForwardOrAllocate(int i, const Shape& shape, absl::Span<const int> candidates) {
  const DType dtype = BaseType(output_type(i));
  // Up to 16 bytes lie in the entry itself: there is nothing to forward.
  if (static_cast<size_t>(shape.num_elements()) * DTypeSize(dtype) > 16) {
    for (const int candidate : candidates) {
      if (!has_input(candidate)) continue;
      const Tensor& tensor = input(candidate);
      if (tensor.dtype() != dtype || tensor.num_elements() != shape.num_elements()) continue;
      if (!InputIsWritable(candidate)) continue;
      Entry& entry = output_entry(i);
      const bool is_same_shape = tensor.shape() == shape;  // Asked now: `shape` may be the taken input's own.
      Tensor taken = TakeInput(candidate);
      if (is_same_shape) {
        entry.SetValue(std::move(taken));
      } else {
        absl::StatusOr<Tensor> reshaped = taken.Reshaped(shape);
        if (!reshaped.ok()) return reshaped.status();
        taken = Tensor();
        entry.SetValue(*std::move(reshaped));
      }
      return &entry.value();
    }
  }
  return AllocateOutput(i, shape);
}

void KernelContext::ParallelFor(int64_t total, double unit_ns, absl::FunctionRef<void(int64_t, int64_t)> work) const {
  if (total <= 0) return;
  if (run_->task_runner == nullptr) {
    const ShardPlan plan(total, unit_ns, run_->deterministic ? 0 : 1);
    for (int64_t i = 0; i < plan.size(); ++i) work(plan.begin(i), plan.begin(i + 1));
    return;
  }
  run_->task_runner->ParallelFor(total, unit_ns, run_->deterministic, work);
}

bool KernelContext::IsCancelled() const { return run_->cancellation != nullptr && run_->cancellation->IsCancelling(); }

}  // namespace sluice

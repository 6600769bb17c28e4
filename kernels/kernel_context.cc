#include "kernels/kernel_context.h"

#include <atomic>

#include "absl/time/clock.h"
#include "graph/base/cancellation.h"
#include "kernels/device/shard_plan.h"
#include "kernels/device/task_runner.h"

namespace sluice {
namespace {

// Looks at the cancellation are so far apart: a cancelled kernel ends soon, and others do not notice.
constexpr double kPollNs = 5e6;

// REQUIRES: total > 0.
int64_t UnitsBetweenPolls(int64_t total, double unit_ns) {
  const double units = kPollNs / unit_ns;
  if (!(units < static_cast<double>(total))) return total;
  return units < 1 ? 1 : static_cast<int64_t>(units);
}

}  // namespace

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

void KernelContext::Share(int64_t total, double unit_ns, absl::FunctionRef<void(int64_t, int64_t)> work) const {
  if (run_->task_runner == nullptr) {
    const ShardPlan plan(total, unit_ns, run_->deterministic ? 0 : 1);
    for (int64_t i = 0; i < plan.size(); ++i) work(plan.begin(i), plan.begin(i + 1));
    return;
  }
  run_->task_runner->ParallelFor(total, unit_ns, run_->deterministic, work);
}

void KernelContext::ParallelFor(int64_t total, double unit_ns, absl::FunctionRef<void(int64_t, int64_t)> work) const {
  if (total <= 0) return;
  // In deterministic runs that cannot be cancelled the work is cut at the same places as in those that can: where a
  // loop begins may decide which NaN an element gets.
  const bool has_deadline = run_->deadline != absl::InfiniteFuture();
  if (run_->cancellation == nullptr && !has_deadline && !run_->deterministic) return Share(total, unit_ns, work);
  const int64_t step = UnitsBetweenPolls(total, unit_ns);
  std::atomic<bool> is_cut{false};
  Share(total, unit_ns, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      // Read after all parts have joined. The executor finds out which of the two it was, by the same clock: the
      // system's runs ahead of Abseil's for seconds when it is put forward.
      if (IsCancelled() || (has_deadline && absl::Now() >= run_->deadline)) {
        return is_cut.store(true, std::memory_order_relaxed);
      }
      const int64_t part_end = end - begin > step ? begin + step : end;
      work(begin, part_end);
      begin = part_end;
    }
  });
  if (is_cut.load(std::memory_order_relaxed)) throw KernelCancelled();
}

bool KernelContext::IsCancelled() const { return run_->cancellation != nullptr && run_->cancellation->IsCancelling(); }

}  // namespace sluice

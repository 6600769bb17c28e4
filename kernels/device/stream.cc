#include "kernels/device/stream.h"

#include <algorithm>
#include <memory>

#include "graph/base/check.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Holds tensors until an event has come.
class Keeper final : public EventWaiter::Task {
 public:
  explicit Keeper(KeptTensors tensors) : tensors_(std::move(tensors)) {}

  void EventHasCome() noexcept override { const std::unique_ptr<Keeper> self(this); }

 private:
  const KeptTensors tensors_;
};

}  // namespace

absl::Status Stream::After(Stream& other) {
  SLUICE_DCHECK(&other.device() == &device_);
  if (&other == this) return absl::OkStatus();
  const uint64_t queued = other.num_queued();
  MutexLock lock(&mu_);
  if (waited_[other.tag()] >= queued) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Event> event, other.Record());
  SLUICE_RETURN_IF_ERROR(WaitFor(*event));
  waited_[other.tag()] = queued;
  return absl::OkStatus();
}

CountedPtr<Event> Stream::RecordOrWait() noexcept {
  try {
    absl::StatusOr<CountedPtr<Event>> event = Record();
    if (event.ok()) return *std::move(event);
  } catch (...) {
    // There is no memory for an event.
  }
  AwaitIdle();
  return {};
}

void Stream::Keep(KeptTensors tensors) noexcept {
  if (tensors.empty()) return;
  std::unique_ptr<Keeper> keeper;
  try {
    keeper = std::make_unique<Keeper>(std::move(tensors));
  } catch (...) {
    return AwaitIdle();  // The tensors go when this returns.
  }
  CountedPtr<Event> event = RecordOrWait();
  if (event) device_.events().Add(std::move(event), keeper.release());
}

absl::Status StreamDevice::Sync() {
  const uint64_t mark = num_failures();
  for (const Use use : kUses) stream(use).AwaitIdle();
  return FailureSince(mark);
}

Stream* StreamDevice::WriterOf(const Tensor& tensor) {
  const Buffer* const buffer = tensor.buffer();
  if (buffer == nullptr) return nullptr;
  for (const Use use : kUses) {
    Stream& of_use = stream(use);
    if (&of_use.memory() == buffer->allocator()) return &of_use;
  }
  return nullptr;
}

absl::Status StreamDevice::FailureSince(uint64_t mark) const {
  const uint64_t count = num_failures();
  if (count == mark) return absl::OkStatus();
  MutexLock lock(&mu_);
  const uint64_t oldest = count > kFailuresKept ? count - kFailuresKept : 0;
  return failures_[std::max(mark, oldest) % kFailuresKept];
}

void StreamDevice::AddFailure(absl::Status failure) {
  MutexLock lock(&mu_);
  const uint64_t number = num_failures_.load(std::memory_order_relaxed);  // Written under the lock only.
  failures_[number % kFailuresKept] = std::move(failure);
  num_failures_.store(number + 1, std::memory_order_release);
}

}  // namespace sluice

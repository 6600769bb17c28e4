#include "executor/dataflow/stream_run.h"

#include <utility>

#include "executor/threads/off_event_thread.h"

namespace sluice {

StreamRun::StreamRun(absl::Span<StreamDevice* const> devices, const RunContext& run)
    : devices_(devices), call_(run, /*num_scratch=*/0) {
  for (StreamDevice* const device : devices_) {
    marks_.push_back(device->num_failures());
    for (size_t i = 0; i < std::size(StreamDevice::kUses); ++i) parts_.emplace_back(this);
  }
}

absl::Status StreamRun::Failure() const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    absl::Status failure = devices_[i]->FailureSince(marks_[i]);
    if (!failure.ok()) return failure;
  }
  return absl::OkStatus();
}

void StreamRun::AwaitAll(absl::AnyInvocable<void()> then) noexcept {
  is_awaited_ = true;
  then_ = std::move(then);
  left_.store(parts_.size() + 1, std::memory_order_relaxed);  // No other thread has it yet.
  size_t next = 0;
  for (StreamDevice* const device : devices_) {
    for (const StreamDevice::Use use : StreamDevice::kUses) {
      Part& part = parts_[next++];
      CountedPtr<Event> event = device->stream(use).RecordOrWait();
      if (event) {
        device->events().Add(std::move(event), &part);
      } else {
        OneIsDone();
      }
    }
  }
  OneIsDone();
}

void StreamRun::AwaitHere() noexcept {
  is_awaited_ = true;
  for (StreamDevice* const device : devices_) {
    for (const StreamDevice::Use use : StreamDevice::kUses) device->stream(use).AwaitIdle();
  }
}

void StreamRun::OneIsDone() noexcept {
  if (left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  absl::AnyInvocable<void()> then = std::move(then_);
  CallOffEventThread([&] { then(); });
}

}  // namespace sluice

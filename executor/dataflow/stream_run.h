#ifndef SLUICE_EXECUTOR_DATAFLOW_STREAM_RUN_H_
#define SLUICE_EXECUTOR_DATAFLOW_STREAM_RUN_H_

#include <atomic>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "executor/node_call.h"
#include "kernels/device/stream.h"

namespace sluice {

// One run's side of devices that work asynchronously: the errors that occurred there, and the wait for all queued work.
// See Note [Streams] in kernels/device/stream.h. Made when the run begins; the baton holder's.
class StreamRun {
 public:
  // `devices` and `run` outlive this.
  StreamRun(absl::Span<StreamDevice* const> devices, const RunContext& run);
  StreamRun(const StreamRun&) = delete;
  StreamRun& operator=(const StreamRun&) = delete;

  // Returns the first failure of work on one of the devices since the run began, or OK.
  absl::Status Failure() const;
  // Calls `then` when all work queued so far is done, possibly before this returns. `then` may destroy this object.
  // REQUIRES: called once only.
  void AwaitAll(absl::AnyInvocable<void()> then) noexcept;
  // As AwaitAll, but blocks this thread.
  void AwaitHere() noexcept;
  bool is_awaited() const { return is_awaited_; }
  // A call that stands for the wait.
  ItemCall& call() { return call_; }

 private:
  // The wait for one stream.
  class Part final : public EventWaiter::Task {
   public:
    explicit Part(StreamRun* run) : run_(run) {}
    void EventHasCome() noexcept override { run_->OneIsDone(); }

   private:
    StreamRun* const run_;
  };

  void OneIsDone() noexcept;

  const absl::Span<StreamDevice* const> devices_;
  std::vector<uint64_t> marks_;  // Of failures before, by device.
  std::vector<Part> parts_;      // By device and stream.
  ItemCall call_;
  bool is_awaited_ = false;
  std::atomic<size_t> left_{0};  // Of the wait. Acquire-release: the last one sees what the others did.
  absl::AnyInvocable<void()> then_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_DATAFLOW_STREAM_RUN_H_

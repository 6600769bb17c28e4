#include "graph/base/stop_poll.h"

#include "absl/time/clock.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"

namespace sluice {

absl::Status StopPoll::Look() {
  until_look_ = 0;  // After a stop the next poll looks again: its caller may continue with partial results.
  if (cancellation_ != nullptr && cancellation_->IsCancelling()) {
    const absl::Status status = cancellation_->status();
    return status.ok() ? Error(ErrorCode::kRunCancelled).Text("the run was cancelled") : status;
  }
  if (deadline_ != absl::InfiniteFuture() && absl::Now() > deadline_) {
    return Error(ErrorCode::kDeadline).Text("the deadline passed while the graph was being prepared");
  }
  until_look_ = kEvery;
  return absl::OkStatus();
}

}  // namespace sluice

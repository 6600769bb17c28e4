#include "executor/run_status.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "graph/base/error.h"

namespace sluice {

void RunStatus::Record(const absl::Status& error) {
  absl::Status cause;
  if (error.code() == absl::StatusCode::kCancelled && cancellation_ != nullptr) cause = cancellation_->status();
  if (cause.ok()) cause = error;
  {
    MutexLock lock(&mu_);
    if (!status_.ok()) return;
    status_ = cause;
  }
  must_stop_.store(true, std::memory_order_relaxed);
  if (rendezvous_ != nullptr) rendezvous_->StartAbort(cause);
  if (cancellation_ != nullptr) cancellation_->StartCancelWithStatus(cause);
}

void RunStatus::RecordCancelled() {
  absl::Status cause = cancellation_->status();
  if (cause.ok()) cause = Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
  Record(cause);
}

void RunStatus::CheckDeadline() {
  if (has_deadline() && absl::Now() >= deadline_) {
    Record(Error(ErrorCode::kDeadline).Text("the deadline of the run has passed"));
  }
}

absl::Status RunStatus::status() const {
  MutexLock lock(&mu_);
  return status_;
}

}  // namespace sluice

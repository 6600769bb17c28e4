#include "executor/run_status.h"

#include "absl/time/clock.h"
#include "executor/plan/node_error.h"
#include "graph/base/as_status.h"
#include "graph/base/check.h"

namespace sluice {
namespace {

// Calls `act`, and once more where it throws: what it has begun must not be left half done for want of memory.
template <typename Act>
void RetryOnce(const Act& act) noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      return act();
    } catch (...) {
      LogCaught("the abort of a run");
    }
  }
}

}  // namespace

void RunStatus::Record(const absl::Status& error) noexcept {
  SLUICE_DCHECK(!error.ok());
  absl::Status cause;
  if (error.code() == absl::StatusCode::kCancelled) {
    if (cancellation_ != nullptr) cause = cancellation_->status();
    // A kernel that has looked at the deadline ends as one that was cancelled.
    if (cause.ok() && has_deadline() && absl::Now() >= deadline_) cause = DeadlinePassed();
  }
  if (cause.ok()) cause = error;
  {
    MutexLock lock(&mu_);
    if (!status_.ok()) return;
    status_ = cause;
  }
  must_stop_.store(true, std::memory_order_relaxed);
  if (rendezvous_ != nullptr) RetryOnce([&] { rendezvous_->StartAbort(cause); });
  if (cancellation_ != nullptr) RetryOnce([&] { cancellation_->StartCancelWithStatus(cause); });
}

void RunStatus::CheckDeadline() noexcept {
  if (has_deadline() && absl::Now() >= deadline_) Record(DeadlinePassed());
}

absl::Status RunStatus::status() const {
  MutexLock lock(&mu_);
  return status_;
}

}  // namespace sluice

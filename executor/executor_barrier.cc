#include "executor/executor_barrier.h"

#include <optional>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// Whether `status` says only that somebody else has failed.
bool IsConsequence(const absl::Status& status) {
  if (status.code() == absl::StatusCode::kCancelled || status.code() == absl::StatusCode::kAborted) return true;
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  return info.has_value() && info->derived;
}

}  // namespace

ExecutorBarrier& ExecutorBarrier::Create(size_t count, Rendezvous* rendezvous, Executor::Done done) {
  SLUICE_CHECK_GT(count, 0u);
  // The constructor is private: a barrier cannot be owned by others.
  std::unique_ptr<ExecutorBarrier> made(new ExecutorBarrier(count, rendezvous, std::move(done)));
  ExecutorBarrier& barrier = *made;
  barrier.self_ = std::move(made);
  return barrier;
}

Executor::Done ExecutorBarrier::Get() {
  return [this](const absl::Status& status) { OneIsDone(status); };
}

void ExecutorBarrier::OneIsDone(const absl::Status& status) {
  bool is_first_error = false;
  {
    MutexLock lock(&mu_);
    is_first_error = status_.ok() && !status.ok();
    if (is_first_error || (!status.ok() && IsConsequence(status_) && !IsConsequence(status))) status_ = status;
  }
  if (is_first_error && rendezvous_ != nullptr) rendezvous_->StartAbort(status);
  Executor::Done done;
  absl::Status outcome;
  {
    MutexLock lock(&mu_);
    if (--left_ > 0) return;
    done = std::move(done_);
    outcome = status_;
  }
  { const std::unique_ptr<ExecutorBarrier> self = std::move(self_); }
  done(outcome);
}

}  // namespace sluice

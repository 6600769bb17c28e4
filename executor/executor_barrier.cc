#include "executor/executor_barrier.h"

#include <optional>
#include <utility>

#include "executor/once_callback.h"
#include "graph/base/as_status.h"
#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// Whether `status` says only that something else has failed. Where there is no memory to look: no.
bool IsConsequence(const absl::Status& status) noexcept {
  if (status.code() == absl::StatusCode::kCancelled || status.code() == absl::StatusCode::kAborted) return true;
  try {
    const std::optional<ErrorInfo> info = ErrorInfoOf(status);
    return info.has_value() && info->derived;
  } catch (...) {
    return false;
  }
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
  return OnceCallback<ExecutorBarrier*, &ExecutorBarrier::OneIsDone, &ExecutorBarrier::OneWasDropped>(this);
}

void ExecutorBarrier::OneWasDropped() noexcept {
  OneIsDone(DroppedError("a part of the step was dropped before it was over"));
}

void ExecutorBarrier::OneIsDone(const absl::Status& status) noexcept {
  bool is_first_error = false;
  {
    MutexLock lock(&mu_);
    is_first_error = status_.ok() && !status.ok();
    if (is_first_error || (!status.ok() && IsConsequence(status_) && !IsConsequence(status))) status_ = status;
  }
  if (is_first_error && rendezvous_ != nullptr) {
    try {
      rendezvous_->StartAbort(status);
    } catch (...) {
      LogCaught("the abort of a rendezvous");
    }
  }
  Executor::Done done;
  absl::Status outcome;
  {
    MutexLock lock(&mu_);
    if (--left_ > 0) return;
    done = std::move(done_);
    outcome = status_;
  }
  { const std::unique_ptr<ExecutorBarrier> self = std::move(self_); }
  try {
    done(std::move(outcome));
  } catch (...) {
    LogCaught("the `done` of a step");
  }
}

}  // namespace sluice

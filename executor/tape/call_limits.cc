#include "executor/tape/call_limits.h"

#include "graph/base/error.h"

namespace sluice {
namespace {

CancellationManager*& ThisThreadsLimits() {
  thread_local CancellationManager* limits = nullptr;
  return limits;
}

}  // namespace

CallLimitsScope::CallLimitsScope(CancellationManager* cancellation, absl::Time deadline)
    : outer_(ThisThreadsLimits()), child_(outer_) {
  CancellationManager& own = child_.manager();
  if (deadline < absl::InfiniteFuture()) {
    timer_.emplace(deadline, [&own] {
      own.StartCancelWithStatus(Error(ErrorCode::kDeadline).Text("the deadline of the thread's calls has passed"));
    });
    if (!timer_->is_set()) own.StartCancelWithStatus(DeadlineTimer::NoThread());
  }
  if (cancellation != nullptr) link_.emplace(*cancellation, own);
  ThisThreadsLimits() = &own;
}

CallLimitsScope::~CallLimitsScope() { ThisThreadsLimits() = outer_; }

CancellationManager* CallLimitsScope::Current() { return ThisThreadsLimits(); }

}  // namespace sluice

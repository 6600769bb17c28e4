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
    : outer_(ThisThreadsLimits()), own_(outer_), linked_(cancellation) {
  // What can throw comes before the registration, which only the destructor takes back.
  if (deadline < absl::InfiniteFuture()) {
    timer_.emplace(deadline, [this] {
      own_.StartCancelWithStatus(Error(ErrorCode::kDeadline).Text("the deadline of the thread's calls has passed"));
    });
  }
  if (linked_ != nullptr) {
    link_ = linked_->NewToken();
    if (!linked_->RegisterCallback(link_, [this] { own_.StartCancelWithStatus(linked_->status()); })) {
      link_ = -1;
      own_.StartCancelWithStatus(linked_->status());
    }
  }
  ThisThreadsLimits() = &own_;
}

CallLimitsScope::~CallLimitsScope() {
  ThisThreadsLimits() = outer_;
  timer_.reset();
  if (link_ >= 0) linked_->DeregisterCallback(link_);
}

CancellationManager* CallLimitsScope::Current() { return ThisThreadsLimits(); }

}  // namespace sluice

#ifndef SLUICE_EXECUTOR_SESSION_LINKED_CANCELLATION_H_
#define SLUICE_EXECUTOR_SESSION_LINKED_CANCELLATION_H_

#include <memory>

#include "executor/cancellation_link.h"
#include "graph/base/cancellation.h"

namespace sluice {

// Cancels one call when its session is closed or the caller's own manager, if any, is cancelled. Lives for the call,
// costs nothing without a caller's manager, and is small: many calls may wait. One thread's; manager() is thread-safe.
class LinkedCancellation {
 public:
  // Both must outlive this; `caller` may be null.
  LinkedCancellation(CancellationManager& session, CancellationManager* caller) : session_(session) {
    if (caller != nullptr) both_ = std::make_unique<Both>(session, *caller);
  }
  LinkedCancellation(const LinkedCancellation&) = delete;
  LinkedCancellation& operator=(const LinkedCancellation&) = delete;

  CancellationManager& manager() { return both_ != nullptr ? both_->manager : session_; }
  const CancellationManager& manager() const { return both_ != nullptr ? both_->manager : session_; }

 private:
  struct Both {
    Both(CancellationManager& session, CancellationManager& caller)
        : of_session(session, manager), of_caller(caller, manager) {}

    CancellationManager manager;
    const CancellationLink of_session, of_caller;  // Destroyed before the manager that they cancel.
  };

  CancellationManager& session_;
  std::unique_ptr<Both> both_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_LINKED_CANCELLATION_H_

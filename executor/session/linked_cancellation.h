#ifndef SLUICE_EXECUTOR_SESSION_LINKED_CANCELLATION_H_
#define SLUICE_EXECUTOR_SESSION_LINKED_CANCELLATION_H_

#include <memory>

#include "graph/base/cancellation.h"

namespace sluice {

// What ends one call: the closing of its session, and the caller's own manager, if there is one. Lives for the call,
// costs nothing without a caller's manager, and takes little room: many calls may wait. One thread's; manager() is
// thread-safe.
class LinkedCancellation {
 public:
  // Both must outlive this; `caller` may be null.
  LinkedCancellation(CancellationManager& session, CancellationManager* caller) : session_(session), caller_(caller) {
    if (caller_ == nullptr) return;
    both_ = std::make_unique<CancellationManager>(&session_);
    token_ = caller_->NewToken();
    is_registered_ = caller_->RegisterCallback(token_, [this] { both_->StartCancelWithStatus(caller_->status()); });
    if (!is_registered_) both_->StartCancelWithStatus(caller_->status());
  }
  LinkedCancellation(const LinkedCancellation&) = delete;
  LinkedCancellation& operator=(const LinkedCancellation&) = delete;
  ~LinkedCancellation() {
    if (is_registered_) caller_->DeregisterCallback(token_);
  }

  CancellationManager& manager() { return both_ != nullptr ? *both_ : session_; }
  const CancellationManager& manager() const { return both_ != nullptr ? *both_ : session_; }

 private:
  CancellationManager& session_;
  CancellationManager* const caller_;
  std::unique_ptr<CancellationManager> both_;
  CancellationToken token_ = -1;
  bool is_registered_ = false;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_LINKED_CANCELLATION_H_

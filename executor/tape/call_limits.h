#ifndef SLUICE_EXECUTOR_TAPE_CALL_LIMITS_H_
#define SLUICE_EXECUTOR_TAPE_CALL_LIMITS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "executor/cancellation_link.h"
#include "executor/threads/deadline_timer.h"
#include "graph/base/cancellation.h"

namespace sluice {

// While it lives, ops that this thread calls on tapes, and passes that it begins without a cancellation of their own,
// end with an error when `cancellation` (null: none) is cancelled or the deadline has passed, even while they wait. If
// the system gives no thread to watch the deadline, they end at once (kOutOfMemory). Sums into gradients and variables
// are always finished. Scopes nest: an op obeys all of them. One thread's, on the stack.
//
//   const CallLimitsScope limits(nullptr, absl::Now() + absl::Seconds(2));
//   std::vector<Var> next = tape.Op("QueueDequeueV2", {queue}, attrs);
class CallLimitsScope {
 public:
  explicit CallLimitsScope(CancellationManager* cancellation, absl::Time deadline = absl::InfiniteFuture());
  CallLimitsScope(const CallLimitsScope&) = delete;
  CallLimitsScope& operator=(const CallLimitsScope&) = delete;
  ~CallLimitsScope();

  // Cancelled when the innermost scope's ops are to end; null: this thread has no limits.
  static CancellationManager* Current();

 private:
  CancellationManager* const outer_;
  ChildManager child_;
  // Destroyed before the managers that they cancel.
  std::optional<TimedCall> timer_;
  std::optional<CancellationLink> link_;
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_CALL_LIMITS_H_

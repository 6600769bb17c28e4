#include "executor/run_setup.h"

#include "executor/run_status.h"

namespace sluice {

absl::Status FailRun(const Executor::Args& args, const absl::Status& error) noexcept {
  absl::Status cause;
  // A kernel that was told to stop does not know why.
  if (error.code() == absl::StatusCode::kCancelled && args.cancellation != nullptr) cause = args.cancellation->status();
  RunStatus status(args.rendezvous, args.cancel_on_error ? args.cancellation : nullptr, args.deadline);
  status.Record(cause.ok() ? error : cause);
  return status.status();
}

}  // namespace sluice

#include "executor/async_call.h"

#include <utility>

#include "absl/base/optimization.h"
#include "executor/plan/node_error.h"
#include "graph/base/as_status.h"
#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// The call whose asynchronous kernel this thread is in; null when its callback has gone there uncalled.
thread_local const NodeCall* starting_call = nullptr;

absl::Status Dropped() noexcept {
  try {
    return Error(ErrorCode::kOutputMissing).Text("the asynchronous kernel has dropped its callback uncalled");
  } catch (...) {
    return StatusOfCaught();
  }
}

void LogLateFailure(const absl::Status& failed) noexcept {
  try {
    SLUICE_LOG(ERROR) << "an asynchronous kernel has kept or called its callback and thrown: " << failed;
  } catch (...) {
    // There is no memory for a line in the log.
  }
}

// Ends its call once: when it is called, or with an error when it goes uncalled, so that no run waits for a kernel that
// has lost it. One thread's at a time. Two pointers: what AnyInvocable holds without an allocation.
class AsyncEnd {
 public:
  AsyncEnd(AsyncCallOwner* owner, NodeCall* call) : owner_(owner), call_(call) {}
  AsyncEnd(AsyncEnd&& other) noexcept : owner_(other.owner_), call_(std::exchange(other.call_, nullptr)) {}
  AsyncEnd& operator=(AsyncEnd&&) = delete;
  ~AsyncEnd() {
    if (ABSL_PREDICT_TRUE(call_ == nullptr)) return;
    if (call_ == starting_call) {
      starting_call = nullptr;  // StartAsyncCall sees it, and may know more: perhaps an exception passes through here.
    } else {
      owner_->EndAsync(*call_, Dropped());
    }
  }
  void operator()(const absl::Status& status) {
    NodeCall* const call = std::exchange(call_, nullptr);
    if (ABSL_PREDICT_TRUE(call != nullptr)) return owner_->EndAsync(*call, status);
    SLUICE_LOG(ERROR) << "an asynchronous kernel has called its callback twice, the second time with: " << status;
  }

 private:
  AsyncCallOwner* const owner_;
  NodeCall* call_;  // Null: moved or called.
};

}  // namespace

bool StartAsyncCall(AsyncCallOwner* owner, NodeCall* call, const AsyncKernel& kernel, absl::Status* failed) noexcept {
  const NodeCall* const outer = std::exchange(starting_call, call);
  absl::Status error;
  try {
    kernel.ComputeAsync(call->context, AsyncEnd(owner, call));
    if (ABSL_PREDICT_FALSE(starting_call == nullptr)) error = Dropped();
  } catch (...) {
    error = StatusOfException();
  }
  if (ABSL_PREDICT_TRUE(std::exchange(starting_call, outer) != nullptr)) {
    if (!error.ok()) LogLateFailure(error);
    return true;
  }
  *failed = std::move(error);
  return false;
}

}  // namespace sluice

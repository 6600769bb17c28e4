#include "executor/async_call.h"

#include <utility>

#include "absl/base/optimization.h"
#include "executor/once_callback.h"
#include "executor/plan/node_error.h"
#include "graph/base/as_status.h"
#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// The call whose ComputeAsync runs on this thread; null once its callback was destroyed there uncalled.
thread_local const NodeCall* starting_call = nullptr;

absl::Status Dropped() noexcept {
  return DroppedError("the asynchronous kernel has dropped its callback uncalled", ErrorCode::kOutputMissing);
}

void LogLateFailure(const absl::Status& failed) noexcept {
  try {
    SLUICE_LOG(ERROR) << "an asynchronous kernel has kept or called its callback and thrown: " << failed;
  } catch (...) {
    // No memory for a line in the log.
  }
}

// A call under way; null: none.
struct CallUnderWay {
  explicit operator bool() const { return call != nullptr; }

  void End(const absl::Status& status) noexcept { owner->EndAsync(*call, status); }
  void WasDropped() noexcept {
    if (call != starting_call) return End(Dropped());
    starting_call = nullptr;  // StartAsyncCall reports the error: if the kernel has thrown, the exception.
  }
  static void EndAgain(const absl::Status& status) {
    SLUICE_LOG(ERROR) << "an asynchronous kernel has called its callback twice, the second time with: " << status;
  }

  AsyncCallOwner* owner = nullptr;
  NodeCall* call = nullptr;
};

// Also ends the call when the kernel drops its callback, so that the run does not wait for ever.
using AsyncEnd = OnceCallback<CallUnderWay, &CallUnderWay::End, &CallUnderWay::WasDropped, &CallUnderWay::EndAgain>;

}  // namespace

bool StartAsyncCall(AsyncCallOwner* owner, NodeCall* call, const AsyncKernel& kernel, absl::Status* failed) noexcept {
  const NodeCall* const outer = std::exchange(starting_call, call);
  absl::Status error;
  try {
    kernel.ComputeAsync(call->context, AsyncEnd({owner, call}));
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

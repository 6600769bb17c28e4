#ifndef SLUICE_EXECUTOR_ASYNC_CALL_H_
#define SLUICE_EXECUTOR_ASYNC_CALL_H_

#include "absl/status/status.h"
#include "executor/node_call.h"
#include "kernels/kernel.h"

namespace sluice {

// A run with asynchronous calls; is notified when they end.
class AsyncCallOwner {
 public:
  // Called when `call` has ended with `status`: on any thread, possibly before StartAsyncCall returns.
  virtual void EndAsync(NodeCall& call, const absl::Status& status) noexcept = 0;

 protected:
  ~AsyncCallOwner() = default;
};

// Calls `kernel` with `call->context`, which has been prepared. The call ends exactly once, whatever the kernel does
// with its callback: when the callback is called, or with kOutputMissing when it is destroyed uncalled; a second call
// is only logged.
// Returns true if owner->EndAsync has been or will be called; the run may be over, so nothing of it may be touched
// then. Returns false if it will never be called; `*failed` is the error, without the node's name, and the caller ends
// the call.
bool StartAsyncCall(AsyncCallOwner* owner, NodeCall* call, const AsyncKernel& kernel, absl::Status* failed) noexcept;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_ASYNC_CALL_H_

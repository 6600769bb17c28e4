#ifndef SLUICE_EXECUTOR_ASYNC_CALL_H_
#define SLUICE_EXECUTOR_ASYNC_CALL_H_

#include "absl/status/status.h"
#include "executor/node_call.h"
#include "kernels/kernel.h"

namespace sluice {

// A run that has asynchronous calls under way: it hears of their ends.
class AsyncCallOwner {
 public:
  // `call` has ended with `status`, on any thread, perhaps before its StartAsyncCall returns.
  virtual void EndAsync(NodeCall& call, const absl::Status& status) noexcept = 0;

 protected:
  ~AsyncCallOwner() = default;
};

// Calls `kernel` with `call->context`, which is ready for it. The call ends once, whatever the kernel does with its
// callback: when it is called, or with kOutputMissing when it goes uncalled; a second call is logged.
// True: the call has ended, or will, by owner->EndAsync. Nothing of the run may be touched then, which may be over.
// False: it has not, and will not; `*failed` says why, without the node's name, and the caller ends it.
bool StartAsyncCall(AsyncCallOwner* owner, NodeCall* call, const AsyncKernel& kernel, absl::Status* failed) noexcept;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_ASYNC_CALL_H_

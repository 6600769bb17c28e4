#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_DONE_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_DONE_H_

// Calls of asynchronous kernels of plug-ins that are not over.

#include "absl/status/status.h"
#include "kernels/kernel.h"
#include "kernels/kernel_context.h"
#include "kernels/plugin/plugin_api.h"

namespace sluice {

// A call that has begun: what the plug-in gets. `call` lives until FinishCall.
struct BegunCall {
  SluiceDone done = 0;
  SluiceCall* call = nullptr;
};

// Begins a call: FinishCall will pass the status on to `*done`, which is moved from unless memory runs out.
absl::StatusOr<BegunCall> BeginCall(KernelContext& context, AsyncKernel::Done* done);

// SluiceApi::finish. Numbers are used once: a second call with one finds nothing, and answers FAILED_PRECONDITION.
SluiceStatus* FinishCall(SluiceDone done, SluiceStatus* status) noexcept;

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_DONE_H_

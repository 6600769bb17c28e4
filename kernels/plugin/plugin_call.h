#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_CALL_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_CALL_H_

// What a plug-in's kernel sees of one call: the functions of SluiceApi over a SluiceCall.

#include <cstdint>
#include <map>
#include <vector>

#include "graph/base/cancellation.h"
#include "kernels/kernel_context.h"
#include "kernels/plugin/plugin_api.h"

// One call of a kernel. On the stack of a synchronous one; in the table of plugin_done.h for others. One thread's at a
// time.
struct SluiceCall {
  explicit SluiceCall(sluice::KernelContext& of_kernel) : context(of_kernel) {}

  sluice::KernelContext& context;
  // The sizes in views of inputs of more than four dimensions: those of the tensor itself are freed when its memory is
  // forwarded under another shape, and views stay valid. Those of others are in the input's place.
  std::map<int32_t, std::vector<int64_t>> dims;
  // Callbacks that on_cancel registered and off_cancel did not take back.
  std::vector<sluice::CancellationToken> cancel_tokens;
  // Whether a parallel_for was cut short: the run was cancelled, or is late.
  bool was_cut = false;
};

namespace sluice {

int32_t CallNumInputs(const SluiceCall* call) noexcept;
int32_t CallNumOutputs(const SluiceCall* call) noexcept;
SluiceStatus* CallInput(SluiceCall* call, int32_t i, SluiceView* view) noexcept;
int32_t CallIsOutputUsed(const SluiceCall* call, int32_t i) noexcept;
SluiceStatus* CallAllocateOutput(SluiceCall* call, int32_t i, int32_t rank, const int64_t* dims,
                                 SluiceView* view) noexcept;
SluiceStatus* CallForwardOrAllocate(SluiceCall* call, int32_t i, int32_t rank, const int64_t* dims,
                                    const int32_t* candidates, int32_t num_candidates, SluiceView* view) noexcept;
SluiceStatus* CallSetOutput(SluiceCall* call, int32_t i, const SluiceTensor* tensor) noexcept;
SluiceStatus* CallPassInput(SluiceCall* call, int32_t out, int32_t in) noexcept;
SluiceStatus* CallAllocateTemp(SluiceCall* call, int32_t dtype, int32_t rank, const int64_t* dims,
                               SluiceTensor** tensor) noexcept;
SluiceStatus* CallKeepInput(SluiceCall* call, int32_t i, SluiceTensor** tensor) noexcept;
SluiceStatus* CallParallelFor(SluiceCall* call, int64_t total, double unit_ns,
                              SluiceStatus* (*work)(void* data, int64_t begin, int64_t end), void* data) noexcept;
int32_t CallIsCancelled(const SluiceCall* call) noexcept;
int32_t CallOnCancel(SluiceCall* call, void (*cancel)(void* data), void* data, int64_t* token) noexcept;
int32_t CallOffCancel(SluiceCall* call, int64_t token) noexcept;
int64_t CallStepId(const SluiceCall* call) noexcept;
int64_t CallIteration(const SluiceCall* call) noexcept;

// Takes back the callbacks that are left, waiting for one that runs on another thread.
void DropCancelCallbacks(SluiceCall* call) noexcept;

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_CALL_H_

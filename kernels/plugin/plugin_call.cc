#include "kernels/plugin/plugin_call.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/plugin/plugin_status.h"
#include "kernels/plugin/plugin_tensor.h"

namespace sluice {
namespace {

// Of a shape whose sizes lie in it.
constexpr int kInlineRank = 4;

absl::Status CheckIndex(int32_t i, int count, absl::string_view kind) {
  if (i >= 0 && i < count) return absl::OkStatus();
  return Error(ErrorCode::kHostKernel).Text(absl::StrCat("the kernel asks for ", kind, " ", i, " of ", count));
}

absl::Status CheckOutputIndex(const SluiceCall* call, int32_t i) {
  return CheckIndex(i, call->context.num_outputs(), "output");
}

// OK when input `i` is a value, though perhaps one that was forwarded.
absl::Status CheckCandidate(const SluiceCall* call, int32_t i) {
  SLUICE_RETURN_IF_ERROR(CheckIndex(i, call->context.num_inputs(), "input"));
  if (call->context.input_ref(i) == nullptr) return absl::OkStatus();
  return Error(ErrorCode::kOpUnimplemented).Input(i).Text("is a reference: plug-ins take values");
}

// OK when input `i` is a value that can be looked at.
absl::Status CheckInput(const SluiceCall* call, int32_t i) {
  SLUICE_RETURN_IF_ERROR(CheckCandidate(call, i));
  if (call->context.has_input(i)) return absl::OkStatus();
  return Error(ErrorCode::kHostKernel).Input(i).Text("is gone: the kernel has handed its memory on to an output");
}

// The parts of one parallel_for, which run on several threads.
class FallibleWork {
 public:
  using Part = SluiceStatus* (*)(void* data, int64_t begin, int64_t end);
  FallibleWork(Part work, void* data) : work_(work), data_(data) {}
  FallibleWork(const FallibleWork&) = delete;
  FallibleWork& operator=(const FallibleWork&) = delete;

  // Thread-safe.
  void Run(int64_t begin, int64_t end) {
    if (has_failed_.load(std::memory_order_relaxed)) return;  // Relaxed: only spares work.
    absl::Status status = AsStatus([&] { return TakeStatus(work_(data_, begin, end)); });
    // The first of those that fail keeps its error; the caller reads it after all parts have joined.
    if (!status.ok() && !has_failed_.exchange(true, std::memory_order_relaxed)) first_ = std::move(status);
  }
  const absl::Status& first() const { return first_; }

 private:
  const Part work_;
  void* const data_;
  std::atomic<bool> has_failed_{false};
  absl::Status first_;
};

}  // namespace

int32_t CallNumInputs(const SluiceCall* call) noexcept { return call->context.num_inputs(); }
int32_t CallNumOutputs(const SluiceCall* call) noexcept { return call->context.num_outputs(); }

SluiceStatus* CallInput(SluiceCall* call, int32_t i, SluiceView* view) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckInput(call, i));
    const Tensor& tensor = call->context.input(i);
    SluiceView made = ViewOf(tensor, /*is_writable=*/false);
    if (made.rank > kInlineRank) {
      const absl::Span<const int64_t> dims = tensor.shape().dims();
      made.dims = call->dims.try_emplace(i, dims.begin(), dims.end()).first->second.data();
    }
    *view = made;
    return absl::OkStatus();
  });
}

int32_t CallIsOutputUsed(const SluiceCall* call, int32_t i) noexcept {
  return i >= 0 && i < call->context.num_outputs() && call->context.IsOutputUsed(i) ? 1 : 0;
}

SluiceStatus* CallAllocateOutput(SluiceCall* call, int32_t i, int32_t rank, const int64_t* dims,
                                 SluiceView* view) noexcept {
  return CallForwardOrAllocate(call, i, rank, dims, nullptr, 0, view);
}

SluiceStatus* CallForwardOrAllocate(SluiceCall* call, int32_t i, int32_t rank, const int64_t* dims,
                                    const int32_t* candidates, int32_t num_candidates, SluiceView* view) noexcept {
  return Answer([&]() -> absl::Status {
    SLUICE_RETURN_IF_ERROR(CheckOutputIndex(call, i));
    if (num_candidates < 0) return Error(ErrorCode::kHostKernel).Text("the kernel forwards a negative count of inputs");
    // Skips an input whose buffer went to an earlier output; whether it did depends on its other readers.
    for (int32_t k = 0; k < num_candidates; ++k) SLUICE_RETURN_IF_ERROR(CheckCandidate(call, candidates[k]));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ShapeOfPlugin(rank, dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, call->context.ForwardOrAllocate(
                                                      i, shape, {candidates, static_cast<size_t>(num_candidates)}));
    *view = ViewOf(*output, /*is_writable=*/true);
    return absl::OkStatus();
  });
}

SluiceStatus* CallSetOutput(SluiceCall* call, int32_t i, const SluiceTensor* tensor) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckOutputIndex(call, i));
    SLUICE_RETURN_IF_ERROR(CheckIsTensor(tensor));
    call->context.SetOutput(i, tensor->value);
    return absl::OkStatus();
  });
}

SluiceStatus* CallPassInput(SluiceCall* call, int32_t out, int32_t in) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckOutputIndex(call, out));
    SLUICE_RETURN_IF_ERROR(CheckInput(call, in));
    call->context.SetOutput(out, call->context.input(in));
    return absl::OkStatus();
  });
}

SluiceStatus* CallAllocateTemp(SluiceCall* call, int32_t dtype, int32_t rank, const int64_t* dims,
                               SluiceTensor** tensor) noexcept {
  return Answer([&] {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ShapeOfPlugin(rank, dims));
    Allocator& allocator = call != nullptr ? call->context.allocator() : HostAllocator();
    SLUICE_ASSIGN_OR_RETURN(Tensor made, Tensor::Make(DTypeFromNumber(dtype), shape, allocator));
    *tensor = GiveTensor(std::move(made), /*is_writable=*/true);
    return absl::OkStatus();
  });
}

SluiceStatus* CallKeepInput(SluiceCall* call, int32_t i, SluiceTensor** tensor) noexcept {
  return Answer([&] {
    SLUICE_RETURN_IF_ERROR(CheckInput(call, i));
    *tensor = GiveTensor(call->context.input(i), /*is_writable=*/false);
    return absl::OkStatus();
  });
}

SluiceStatus* CallParallelFor(SluiceCall* call, int64_t total, double unit_ns,
                              SluiceStatus* (*work)(void* data, int64_t begin, int64_t end), void* data) noexcept {
  return Answer([&]() -> absl::Status {
    FallibleWork parts(work, data);
    try {
      call->context.ParallelFor(total, unit_ns, [&parts](int64_t begin, int64_t end) { parts.Run(begin, end); });
    } catch (const KernelCancelled&) {
      call->was_cut = true;
      return Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
    }
    return parts.first();
  });
}

int32_t CallIsCancelled(const SluiceCall* call) noexcept { return call->context.IsCancelled() ? 1 : 0; }

int32_t CallOnCancel(SluiceCall* call, void (*cancel)(void* data), void* data, int64_t* token) noexcept {
  *token = -1;
  CancellationManager* const manager = call->context.run().cancellation;
  if (manager == nullptr) return 1;  // A run that nothing cancels.
  try {
    call->cancel_tokens.push_back(*token = manager->NewToken());
    if (manager->RegisterCallback(*token, [cancel, data] { cancel(data); })) return 1;
  } catch (...) {
    LogCaught("on_cancel of a plug-in");
  }
  const auto kept = std::find(call->cancel_tokens.begin(), call->cancel_tokens.end(), *token);
  if (kept != call->cancel_tokens.end()) call->cancel_tokens.erase(kept);
  return 0;
}

int32_t CallOffCancel(SluiceCall* call, int64_t token) noexcept {
  const auto kept = std::find(call->cancel_tokens.begin(), call->cancel_tokens.end(), token);
  if (kept == call->cancel_tokens.end()) return token == -1 ? 1 : 0;
  call->cancel_tokens.erase(kept);
  return call->context.run().cancellation->DeregisterCallback(token) ? 1 : 0;
}

int64_t CallStepId(const SluiceCall* call) noexcept { return call->context.run().step_id.value(); }
int64_t CallIteration(const SluiceCall* call) noexcept { return call->context.iteration(); }

void DropCancelCallbacks(SluiceCall* call) noexcept {
  while (!call->cancel_tokens.empty()) (void)CallOffCancel(call, call->cancel_tokens.back());
}

}  // namespace sluice

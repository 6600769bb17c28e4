#include "kernels/plugin/plugin_done.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "kernels/plugin/plugin_call.h"
#include "kernels/plugin/plugin_status.h"

namespace sluice {
namespace {

struct PendingCall {
  explicit PendingCall(KernelContext& context) : call(context) {}

  SluiceCall call;
  AsyncKernel::Done done;
};

// The calls of the process by number. Thread-safe. Never destroyed: threads of plug-ins may be later than that.
class PendingCalls {
 public:
  static PendingCalls& Get() {
    static PendingCalls* const calls = std::make_unique<PendingCalls>().release();
    return *calls;
  }

  // Throws where memory runs out; then `pending` is gone and nothing was added.
  SluiceDone Add(std::unique_ptr<PendingCall> pending) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    const SluiceDone number = next_;
    calls_.emplace(number, std::move(pending));
    ++next_;
    return number;
  }

  // Null when the call is over, or never was.
  std::unique_ptr<PendingCall> Take(SluiceDone number) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    const auto found = calls_.find(number);
    if (found == calls_.end()) return nullptr;
    std::unique_ptr<PendingCall> taken = std::move(found->second);
    calls_.erase(found);
    return taken;
  }

 private:
  Mutex mu_;
  SluiceDone next_ ABSL_GUARDED_BY(mu_) = 1;
  std::unordered_map<SluiceDone, std::unique_ptr<PendingCall>> calls_ ABSL_GUARDED_BY(mu_);
};

// As of any kernel, whatever the plug-in made of it: the executor finds out whether the run was cancelled or is late.
absl::Status CutShort() noexcept {
  try {
    return Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
  } catch (...) {
    return absl::Status(absl::StatusCode::kCancelled, "");  // Needs no memory.
  }
}

}  // namespace

absl::StatusOr<BegunCall> BeginCall(KernelContext& context, AsyncKernel::Done* done) {
  return AsStatus([&]() -> absl::StatusOr<BegunCall> {
    auto pending = std::make_unique<PendingCall>(context);
    PendingCall* const kept = pending.get();
    const SluiceDone number = PendingCalls::Get().Add(std::move(pending));
    kept->done = std::move(*done);  // No other thread knows the number yet.
    return BegunCall{number, &kept->call};
  });
}

SluiceStatus* FinishCall(SluiceDone done, SluiceStatus* status) noexcept {
  absl::Status answer = TakeStatus(status);
  const std::unique_ptr<PendingCall> pending = PendingCalls::Get().Take(done);
  if (pending == nullptr) {
    return Answer([]() -> absl::Status {
      SLUICE_LOG(ERROR) << "a kernel of a plug-in has called `finish` twice for one call, or with a wrong number";
      return Error(ErrorCode::kOpPrecondition).Text("`finish` was called twice for one call, or with a wrong number");
    });
  }
  DropCancelCallbacks(&pending->call);
  if (pending->call.was_cut) answer = CutShort();
  AsyncKernel::Done ended = std::move(pending->done);
  return Answer([&] {
    std::move(ended)(std::move(answer));
    return absl::OkStatus();
  });
}

}  // namespace sluice

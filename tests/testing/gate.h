#ifndef SLUICE_TESTS_TESTING_GATE_H_
#define SLUICE_TESTS_TESTING_GATE_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "graph/base/mutex.h"
#include "kernels/kernel.h"

namespace sluice {

// Where asynchronous kernels wait until a test lets them go on: what a queue is to steps. Thread-safe.
class CallGate {
 public:
  using Done = AsyncKernel::Done;

  // Gives its input, when the gate lets it.
  class WaitKernel final : public AsyncKernel {
   public:
    explicit WaitKernel(CallGate& gate) : gate_(gate) {}
    void ComputeAsync(KernelContext& context, Done done) const override { gate_.Wait(context, std::move(done)); }

   private:
    CallGate& gate_;
  };

  size_t num_waiting() const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return waiting_.size();
  }
  // Ends the oldest call, with `status`. False: none waits.
  bool EndOne(const absl::Status& status = absl::OkStatus()) ABSL_LOCKS_EXCLUDED(mu_) {
    Call call;
    {
      MutexLock lock(&mu_);
      if (waiting_.empty()) return false;
      call = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (status.ok()) call.context->SetOutput(0, call.context->TakeInput(0));
    call.done(status);
    return true;
  }
  // Ends all calls that wait, and those that begin meanwhile.
  void EndAll(const absl::Status& status = absl::OkStatus()) {
    while (EndOne(status)) {
    }
  }

 private:
  struct Call {
    KernelContext* context = nullptr;
    Done done;
  };

  void Wait(KernelContext& context, Done done) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    waiting_.push_back({&context, std::move(done)});
  }

  mutable Mutex mu_;
  std::deque<Call> waiting_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_GATE_H_

#include "executor/executor.h"

#include <memory>
#include <utility>

#include "executor/threads/thread_runs.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/strong_id.h"

namespace sluice {
namespace {

// A finished run whose `done` is still to be called, on any thread. Owned by whatever is to do so.
class EndedRun final : public DeferredRun {
 public:
  EndedRun(Executor::Done&& done, absl::Status&& status)
      : DeferredRun(StepId()), done_(std::move(done)), status_(std::move(status)) {}

  void RunTask() noexcept override {
    const std::unique_ptr<EndedRun> self(this);
    const ThreadRuns::Scope scope;
    CallDone(std::move(done_), status_);
  }
  bool HandOver(To) noexcept override { return false; }

 private:
  Executor::Done done_;
  absl::Status status_;
};

// A run that a thread waits for, on that thread's stack.
struct WaitedRun {
  absl::Status outcome;
  bool was_dropped = false;  // `done` went uncalled.
  Notification is_over;
};

absl::Status Dropped() noexcept {
  return AsStatus([]() -> absl::Status {
    return Error(ErrorCode::kRunCancelled).Text("the executor has dropped the callback of the run uncalled");
  });
}

// The `done` of a run that is waited for: the wait ends when it is called, or when it goes uncalled. One thread's at a
// time. One pointer: what AnyInvocable holds without an allocation.
class EndOfWait {
 public:
  explicit EndOfWait(WaitedRun* run) : run_(run) {}
  EndOfWait(EndOfWait&& other) noexcept : run_(std::exchange(other.run_, nullptr)) {}
  EndOfWait& operator=(EndOfWait&&) = delete;
  ~EndOfWait() {
    if (run_ == nullptr) return;
    run_->was_dropped = true;
    End(Dropped());
  }
  void operator()(absl::Status status) {
    if (run_ != nullptr) End(std::move(status));
  }

 private:
  // The run is gone after that.
  void End(absl::Status status) noexcept {
    WaitedRun* const run = std::exchange(run_, nullptr);
    run->outcome = std::move(status);
    run->is_over.Notify();
  }

  WaitedRun* run_;  // Null: moved or called.
};

}  // namespace

absl::Status Executor::Run(const Args& args) const {
  const ThreadRuns::AwaitScope awaited(args.step_id);  // RunAsync may work here.
  WaitedRun run;
  absl::Status thrown;
  try {
    RunAsync(args, EndOfWait(&run));
  } catch (...) {
    // The run has dropped the callback, or will call it: until then it may use its arguments.
    thrown = StatusOfCaught();
    LogCaught("the RunAsync of an executor");
  }
  BeforeWaiting();  // Perhaps inside of a kernel.
  run.is_over.WaitForNotification();
  return run.was_dropped && !thrown.ok() ? thrown : run.outcome;
}

// Not to a pool: this may be its only thread.
void BeforeWaiting() noexcept { ThreadRuns::Current().GiveAway(DeferredRun::To::kRunner); }

void CallDone(Executor::Done done, const absl::Status& status) noexcept {
  try {
    std::move(done)(status);
  } catch (...) {
    LogCaught("the `done` of a run");
  }
}

void EndAtOnce(Executor::Done done, absl::Status status) noexcept {
  ThreadRuns& runs = ThreadRuns::Current();
  if (runs.depth() >= ThreadRuns::kMaxNested) {
    try {
      return runs.Keep(std::make_unique<EndedRun>(std::move(done), std::move(status)).release());
    } catch (...) {
      // There was no memory to move them to: they are as they were.
    }
  }
  const ThreadRuns::Scope scope;
  CallDone(std::move(done), status);
}

}  // namespace sluice

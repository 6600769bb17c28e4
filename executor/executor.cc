#include "executor/executor.h"

#include <memory>
#include <utility>

#include "executor/once_callback.h"
#include "executor/threads/thread_runs.h"
#include "graph/base/as_status.h"
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

// A run that a thread waits for, on that thread's stack. It is gone when its callback has been called or dropped.
struct WaitedRun {
  void End(absl::Status status) noexcept {
    outcome = std::move(status);
    is_over.Notify();
  }
  void WasDropped() noexcept {
    was_dropped = true;
    End(DoneWasDropped());
  }

  absl::Status outcome;
  bool was_dropped = false;  // `done` went uncalled.
  Notification is_over;
};

}  // namespace

absl::Status Executor::Run(const Args& args) const {
  const ThreadRuns::AwaitScope awaited(args.step_id);  // RunAsync may work here.
  WaitedRun run;
  absl::Status thrown;
  try {
    RunAsync(args, OnceCallback<WaitedRun*, &WaitedRun::End, &WaitedRun::WasDropped>(&run));
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
void BeforeWaiting() noexcept { ThreadRuns::Current().HandToAnyThread(DeferredRun::To::kRunner); }

absl::Status DoneWasDropped() noexcept {
  return DroppedError("the executor has dropped the callback of the run uncalled");
}

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
      return runs.PushLocal(std::make_unique<EndedRun>(std::move(done), std::move(status)).release());
    } catch (...) {
      // There was no memory to move them to: they are as they were.
    }
  }
  const ThreadRuns::Scope scope;
  CallDone(std::move(done), status);
}

}  // namespace sluice

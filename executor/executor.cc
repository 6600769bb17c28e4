#include "executor/executor.h"

#include <memory>
#include <utility>

#include "executor/thread_runs.h"
#include "graph/base/as_status.h"
#include "graph/base/mutex.h"
#include "graph/base/strong_id.h"

namespace sluice {
namespace {

// A run of which nothing is left but to call its `done`, on any thread. Owned by whatever is to do so.
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

}  // namespace

absl::Status Executor::Run(const Args& args) const {
  absl::Status outcome;
  Notification over;
  RunAsync(args, [&](absl::Status status) {
    outcome = std::move(status);
    over.Notify();
  });
  BeforeWaiting();  // Perhaps inside of a kernel.
  over.WaitForNotification();
  return outcome;
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

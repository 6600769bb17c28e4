#include "executor/executor.h"

#include <utility>

#include "executor/thread_runs.h"
#include "graph/base/as_status.h"
#include "graph/base/mutex.h"

namespace sluice {

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

void CallDone(Executor::Done done, const absl::Status& status) noexcept {
  try {
    std::move(done)(status);
  } catch (...) {
    LogCaught("the `done` of a run");
  }
}

}  // namespace sluice
// Not to a pool: this may be its only thread.
void BeforeWaiting() noexcept { ThreadRuns::Current().GiveAway(DeferredRun::To::kRunner); }


#include "executor/threads/thread_runs.h"

namespace sluice {

void ThreadRuns::HandAll(DeferredRun::To to) noexcept {
  List list = deferred_.TakeAll();
  while (!list.empty()) {
    DeferredRun* const run = list.PopFront();
    if (!run->HandOver(to)) PushLocal(run);
  }
}

void ThreadRuns::HandToAnyThread(DeferredRun::To to) noexcept {
  if (ABSL_PREDICT_TRUE(deferred_.empty())) return;
  // A host whose scheduler runs closures at once brings runs back to this list.
  HandAll(to);
  List list = deferred_.TakeAll();
  while (!list.empty()) {
    DeferredRun* const run = list.PopFront();
    if (!ServiceThreads::Global().Run(run)) PushLocal(run);
  }
}

void ThreadRuns::RunAll(bool hands_over) noexcept {
  if (is_continuing_) return;
  if (is_nested_) return HandToAnyThread();
  is_continuing_ = true;
  while (!deferred_.empty()) {
    DeferredRun* const run = deferred_.PopFront();
    const bool may_stay = awaited_.is_awaited ? awaited_.Has(*run) : !hands_over;
    if (!may_stay && run->HandOver(DeferredRun::To::kOwnThreads)) continue;
    const bool is_for_others = awaited_.is_awaited && !may_stay;
    if (is_for_others && ServiceThreads::Global().Run(run)) continue;
    run->RunTask();  // Late is better than never.
  }
  is_continuing_ = false;
}

ThreadRuns::WaitScope::WaitScope(StepId awaited)
    : runs_(Current()),
      depth_(runs_.depth_),
      hands_over_(runs_.hands_over_),
      is_continuing_(runs_.is_continuing_),
      is_nested_(runs_.is_nested_),
      awaited_(runs_.awaited_) {
  runs_.HandToAnyThread();
  runs_.depth_ = 0;
  runs_.hands_over_ = false;
  runs_.is_continuing_ = false;
  runs_.is_nested_ = is_nested_ || depth_ > 0;
  runs_.awaited_ = Awaited{true, nullptr, awaited};
}

ThreadRuns::WaitScope::~WaitScope() {
  runs_.depth_ = depth_;
  runs_.hands_over_ = hands_over_;
  runs_.is_continuing_ = is_continuing_;
  runs_.is_nested_ = is_nested_;
  runs_.awaited_ = awaited_;
}

}  // namespace sluice

#include "executor/hand_off.h"

#include <utility>

#include "executor/once_callback.h"
#include "graph/base/as_status.h"

namespace sluice {
namespace {

// A call of HandToThreads on this thread. Calls nest: a task that runs at once may hand off another run.
struct InFlightHandOff {
  const Counted* run;
  InFlightHandOff* outer;
  bool was_dropped = false;
};

thread_local InFlightHandOff* innermost = nullptr;

absl::Status DroppedByRunner() noexcept {
  return DroppedError("the runner dropped the work of the run instead of doing it");
}

}  // namespace

absl::Status HandToThreads(const Counted& run, const Runner* runner, TaskRunner* threads,
                           absl::AnyInvocable<void()> task) noexcept {
  InFlightHandOff hand_off{&run, innermost};
  innermost = &hand_off;
  absl::Status failed;
  try {
    if (runner != nullptr) {
      (*runner)(std::move(task));
    } else {
      threads->Schedule(std::move(task));
    }
  } catch (...) {
    failed = StatusOfCaught(ErrorCode::kKernelException);
  }
  innermost = hand_off.outer;
  if (ABSL_PREDICT_TRUE(!hand_off.was_dropped)) return absl::OkStatus();
  return failed.ok() ? DroppedByRunner() : failed;
}

absl::Status TaskWasDropped(const Counted& run) noexcept {
  for (InFlightHandOff* hand_off = innermost; hand_off != nullptr; hand_off = hand_off->outer) {
    if (hand_off->run != &run) continue;
    hand_off->was_dropped = true;
    return absl::OkStatus();
  }
  return DroppedByRunner();
}

}  // namespace sluice

#ifndef SLUICE_GRAPH_BASE_STOP_POLL_H_
#define SLUICE_GRAPH_BASE_STOP_POLL_H_

#include <cstdint>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace sluice {

class CancellationManager;

// Tells long work that does not wait, such as preparing a graph, when to stop: at a deadline, or when a manager is
// cancelled. Passes get a pointer to one (null: they never stop) and poll it for every node:
//
//   SLUICE_RETURN_IF_ERROR(PollStop(options.stop));
//
// One thread's.
class StopPoll {
 public:
  // `cancellation` may be null; else it outlives this.
  StopPoll(absl::Time deadline, const CancellationManager* cancellation)
      : deadline_(deadline), cancellation_(cancellation) {}

  // OK, the manager's status, or kDeadline. Checks once in kEvery nodes; `nodes` counts those since the last call.
  absl::Status Poll(int64_t nodes = 1) {
    until_look_ -= nodes;
    if (ABSL_PREDICT_TRUE(until_look_ > 0)) return absl::OkStatus();
    return Look();
  }
  // The same, but always checks.
  absl::Status Look();

 private:
  static constexpr int64_t kEvery = 64;

  const absl::Time deadline_;
  const CancellationManager* const cancellation_;
  int64_t until_look_ = 0;
};

inline absl::Status PollStop(StopPoll* stop, int64_t nodes = 1) {
  return ABSL_PREDICT_TRUE(stop == nullptr) ? absl::OkStatus() : stop->Poll(nodes);
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_STOP_POLL_H_

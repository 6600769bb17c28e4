#ifndef SLUICE_EXECUTOR_SESSION_STEP_SIMPLIFIER_H_
#define SLUICE_EXECUTOR_SESSION_STEP_SIMPLIFIER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/session/session_core.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "graph/passes/constant_evaluator.h"
#include "graph/passes/feed_fetch.h"
#include "graph/passes/simplify.h"
#include "kernels/memory/tracking_allocator.h"

namespace sluice {

// Computes nodes ahead of all runs, with the kernels that would compute them in one: those of this build, on the CPUs
// of a session, on the calling thread. Refuses nodes on other devices, kernels of hosts, which may do anything, those
// that wait, those that would take long, and strings, whose memory has no bound.
// Thread-safe. Its results must not outlive it.
class KernelEvaluator final : public ConstantEvaluator {
 public:
  // Gives kernels `max_bytes` at most at a time. Borrows the core.
  KernelEvaluator(const SessionCore& core, int64_t max_bytes)
      : core_(core), allocator_(core.device(0).allocator(), max_bytes) {}

  absl::StatusOr<std::vector<Tensor>> Evaluate(const Graph& graph, NodeId id,
                                               absl::Span<const Tensor> inputs) const override;

 private:
  const SessionCore& core_;
  mutable TrackingAllocator allocator_;  // Guards itself.
};

// Simplifies the graph of one signature as the session's options say. Its feeds, fetches and targets stay.
// See Note [Simplifying a step] in graph/passes/simplify.h.
absl::StatusOr<SimplifyReport> SimplifyStep(const SessionCore& core, StopPoll* stop, FeedFetchGraph* signature);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_STEP_SIMPLIFIER_H_

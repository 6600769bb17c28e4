#ifndef SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_
#define SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_

#include "absl/status/statusor.h"
#include "executor/session/session_core.h"
#include "graph/passes/feed_fetch.h"

namespace sluice {

// From a session's graph and the names of one signature to the graph that its steps run: feeds and fetches applied and
// the rest pruned, functions inlined, conditionals and loops lowered, attrs checked, every node on a device.
// `is_split` says whether nodes are on more than one device.
struct StepGraph {
  FeedFetchGraph signature = {Graph(nullptr), {}, {}, {}};
  bool is_split = false;
};
absl::StatusOr<StepGraph> MakeStepGraph(const Graph& graph, const FeedFetchSpec& spec, const SessionCore& core,
                                        FeedFetchOptions::Convention convention);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_

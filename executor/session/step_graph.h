#ifndef SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_
#define SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/functions/kernel_functions.h"
#include "executor/kernel_store.h"
#include "executor/session/session_core.h"
#include "executor/session/session_graph.h"
#include "graph/passes/feed_fetch.h"
#include "rendezvous/key.h"

namespace sluice {

// Note [Joined devices]
// The CPU devices of a session share the host's memory and the session's threads. A step over several of them is cut at
// their borders only where it has to be: otherwise it stays one graph for one executor, in which the kernels of nodes
// on other devices find their own device's name and state, and a value that changes device is an edge like others (a
// transfer through the rendezvous takes some thirty times as long). Accelerators are in the same graph: their kernels
// launch on a stream and return (Note [Streams] in kernels/device/stream.h), and a value that changes memory does so in
// an asynchronous node between its ends (Note [Copies] in graph/placement/copy_nodes.h). A step is cut
//   - when the session's options say so, or its kind of executor is the host's, which knows one device only;
//   - when a CPU has another allocator or a context of its own, or the first device is not a CPU;
//   - when a reference to a variable crosses, which a cut makes a value;
//   - for partial runs.

// From a session's graph and the names of one signature to the graph that its steps run: feeds and fetches applied and
// the rest pruned, functions inlined or compiled to be called, conditionals and loops lowered, attrs checked, every
// node on a device; simplified, but for partial runs (Note [Simplifying a step] in graph/passes/simplify.h). `stop` is
// polled; it may be null.
struct StepGraph {
  FeedFetchGraph signature = {Graph(nullptr), {}, {}, {}};
  bool is_cut = false;                // To be run in parts, one per device: without copies so far.
  std::vector<Device*> node_devices;  // By id, where nodes are on several devices that are joined; else empty.
  BodyStore::Calls calls;             // That are left in the graph. No bodies: none are.
  // State that calls of functions share, until the step is compiled. See KernelSet.
  std::unique_ptr<KernelStore> call_store = std::make_unique<KernelStore>();
  std::unique_ptr<KernelFunctions> functions;                        // That its kernels call; null: none do.
  std::unique_ptr<EdgeTable> edges = std::make_unique<EdgeTable>();  // Of the rendezvous of its steps.
};
absl::StatusOr<StepGraph> MakeStepGraph(const SessionGraph& graph, const FeedFetchSpec& spec, const SessionCore& core,
                                        FeedFetchOptions::Convention convention, CallPolicy policy,
                                        StopPoll* stop = nullptr);

// The policy of the session's options, where steps of this kind can call functions at all.
CallPolicy CallPolicyOf(const SessionCore& core, FeedFetchOptions::Convention convention);

// `status`; where it says that the session has no kernel for one node of `graph`, the same for all such nodes, or for
// those found before `stop`, which may be null, says to stop.
absl::Status WithAllMissingKernels(const absl::Status& status, const Graph& graph, const SessionCore& core,
                                   StopPoll* stop);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_

#ifndef SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_
#define SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/functions/kernel_functions.h"
#include "executor/plan/call_store.h"
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

// Note [From a signature to a step]
// MakeStepGraph makes the graph that the steps of one signature run from the session's graph, in this order:
//   1. ApplyFeedsAndFetches: feeds and fetches become nodes, and what no fetch and no target needs is left out.
//   2. StateHomes: nodes of variables and other state, with those that use them, get the devices where they are.
//   3. InlineCallsAndGradients: symbolic gradients become functions, conditionals and loops are lowered, calls inlined,
//      except those that stay (Note [Called or inlined]).
//   4. PruneInlined: what no fetch and no target needs of the bodies is left out. TensorFlow lowers before it prunes
//      (Note [Effects that nothing reads]); here step 1 comes first, so that only bodies that a step reaches are looked
//      at, however large the graph and its library are. Step 4 makes the result the same.
//   5. BodyStore: bodies of calls that stay are compiled, each through steps of its own like 3 and 4.
//   6. CheckRunnable, PlaceGraph: attrs are checked, and each node gets a device.
//   7. SimplifyStep (Note [Simplifying a step] in graph/passes/simplify.h), but not for partial runs.
//   8. InsertCopies, or later the cut at the borders of devices: see Note [Joined devices].

// Makes such a graph. `stop` is polled; it may be null.
struct StepGraph {
  FeedFetchGraph signature = {Graph(nullptr), {}, {}, {}};
  bool is_cut = false;                         // To be run in parts, one per device: without copies so far.
  std::vector<Device*> node_devices;           // By id, where nodes are on several devices that are joined; else empty.
  BodyStore::Calls calls;                      // That are left in the graph. No bodies: none are.
  std::unique_ptr<CallStore> call_store;       // For the kernels with state in functions that are called.
  std::unique_ptr<KernelFunctions> functions;  // That its kernels call; null: none do.
  std::unique_ptr<EdgeTable> edges = std::make_unique<EdgeTable>();  // Of the rendezvous of its steps.
};
absl::StatusOr<StepGraph> MakeStepGraph(const SessionGraph& graph, const FeedFetchSpec& spec, const SessionCore& core,
                                        FeedFetchOptions::Convention convention, CallPolicy policy,
                                        StopPoll* stop = nullptr);

// The policy of the session's options, where steps of this kind can call functions at all.
CallPolicy CallPolicyOf(const SessionCore& core, FeedFetchOptions::Convention convention);

// Returns `status`; if it reports a missing kernel for one node of `graph`, extends it to all such nodes found until
// `stop`, which may be null.
absl::Status WithAllMissingKernels(const absl::Status& status, const Graph& graph, const SessionCore& core,
                                   StopPoll* stop);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_STEP_GRAPH_H_

#ifndef SLUICE_GRAPH_FUNCTIONS_NEEDED_PARTS_H_
#define SLUICE_GRAPH_FUNCTIONS_NEEDED_PARTS_H_

// Which parts of inlined bodies a step needs.
//
// Note [Effects that nothing reads]
// A stateful node in the body of a function may be read by nothing: no result and no control result of the function
// leads to it. Whether it runs depends on how the body is called, as in TensorFlow, whose sessions lower conditionals
// and loops first and prune the graph afterwards (tests/goldens/effects has what TensorFlow answers):
//   - PartitionedCall, StatefulPartitionedCall: all results and all control results are computed where one of them is
//     needed. Other stateful nodes do not run, except those of a StatefulPartitionedCall without control results for
//     which some node waits.
//   - A function that is called by its name as the op: all of its stateful nodes run.
//   - If, Case and While that are marked _lower_using_switch_merge: what is needed of each result by itself. The
//   control
//     results of a branch run where some node waits for the conditional; those of a loop's functions in each iteration.
//   - If, Case and While that are not marked, or that stand in a body which runs all of its stateful nodes: those of
//   the
//     branch that is taken, or of the loop's functions, run. So do those of a _noinline function that a marked one
//     calls.
// This holds whether a call is inlined or stays. So bodies bring no roots of their own: inlining notes which nodes are
// needed together, and afterwards the graph is pruned to what its roots need.

#include <vector>

#include "graph/functions/instantiate.h"
#include "graph/ir/graph.h"

namespace sluice {

// Which nodes of a body run, in rising order. See Note [Effects that nothing reads].
enum class BodyRun : int {
  kResults,  // Those that results and control results need.
  kEffects,  // And stateful ones.
  kByName,   // And those of all conditionals and loops in it, which are taken for functional ones.
};

// The parts of a graph with inlined calls that a step keeps.
struct InlinedParts {
  std::vector<NodeId> roots;                  // The nodes whose outputs are wanted.
  std::vector<NodeId> control_roots;          // And what has to run, whatever it gives.
  std::vector<std::vector<NodeId>> together;  // Where one of them is needed, all are.
};

// The roots of the body of a function, by how it runs, its arguments among them; nothing is inlined yet.
InlinedParts PartsOf(const FunctionGraph& body, BodyRun run);

// Removes from `graph` the nodes that `parts.roots` do not need, by their inputs and by `parts.together`. Ids that the
// graph does not have are ignored. Linear.
void PruneInlined(Graph& graph, const InlinedParts& parts);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_NEEDED_PARTS_H_

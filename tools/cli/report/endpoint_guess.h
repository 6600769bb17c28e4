#ifndef SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_
#define SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_

#include <vector>

#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"

namespace sluice {

// What a caller may give to a graph and get from it, where no signature says so. One guess for all commands.
struct GraphEndpoints {
  // What a caller has to feed: outputs of placeholders, and of nodes that get data from outside of the graph
  // (iterators). Not the file name of a saver.
  std::vector<Output> inputs;
  // What a caller may want to fetch: outputs that nothing uses, of nodes that are not there for their effect (NoOp,
  // Assert, assignments, summaries), nor for a saver, and that depend on something (no constants, variables or
  // placeholders). Where there are none, those of such nodes that others only wait for. All of them can be fetched and
  // shown: they are not inside of loops, and not resources or variants. Outermost name scopes first.
  std::vector<Output> outputs;
  // What a caller may want to run for its effect: nodes without outputs that no other node waits for, but that wait for
  // others ("init", "train").
  std::vector<NodeId> targets;
};

// Linear in the graph and its functions. `frames` is that of the graph.
GraphEndpoints GuessEndpoints(const Graph& graph, const ControlFlowInfo& frames);

// By node: whether it is a part of what writes and reads checkpoints (savers, the names of their files, what only
// restores), and nothing else reads it.
std::vector<bool> SaverParts(const Graph& graph);

// The targets alone.
std::vector<NodeId> GuessTargets(const Graph& graph);

// Whether `op` hands out elements of a tf.data pipeline ("IteratorGetNext"), which a caller replaces by feeds.
bool IsIteratorOp(absl::string_view op);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_

#ifndef SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_
#define SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_

#include <vector>

#include "graph/ir/control_flow_check.h"
#include "graph/ir/graph.h"

namespace sluice {

// Guesses inputs and outputs of a graph without signatures, for all commands alike.
struct GraphEndpoints {
  // Outputs that a caller must feed: of placeholders, and of nodes that get data from outside of the graph (iterators).
  // Not the file name of a saver.
  std::vector<Output> inputs;
  // Outputs that a caller may want to fetch: unused ones, not of nodes with effects (NoOp, Assert, assignments,
  // summaries) or savers, nor of constants, variables or placeholders; if there are none, those of such nodes that
  // others wait for by control edges only. All can be fetched and shown: none are inside of loops, or resources or
  // variants. Outermost name scopes first.
  std::vector<Output> outputs;
  // Nodes that a caller may want to run for their effect: without outputs, waited for by no other node, but waiting for
  // others ("init", "train").
  std::vector<NodeId> targets;
};

// Linear in the graph and its functions. `frames` is that of the graph.
GraphEndpoints GuessEndpoints(const Graph& graph, const ControlFlowInfo& frames);

// By node: whether it only serves to write and read checkpoints (savers, the names of their files, restoring nodes).
std::vector<bool> SaverParts(const Graph& graph);

// The targets alone.
std::vector<NodeId> GuessTargets(const Graph& graph);

// Whether `op` gives elements of a tf.data pipeline ("IteratorGetNext"), which a caller replaces by feeds.
bool IsIteratorOp(absl::string_view op);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_

#ifndef SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_
#define SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_

#include <vector>

#include "graph/ir/graph.h"

namespace sluice {

// What a caller has to feed: outputs of placeholders, and of nodes that get data from outside of the graph (iterators).
std::vector<Output> GuessInputs(const Graph& graph);

// What a caller may want to fetch: outputs that nothing uses, of nodes that are not there for their effect (NoOp,
// Assert, assignments, savers, summaries) and that depend on something (no constants, variables or placeholders).
// Outermost name scopes first.
std::vector<Output> GuessOutputs(const Graph& graph);

// What a caller may want to run for its effect: nodes without outputs that nobody waits for, but that wait for others
// ("init", "train").
std::vector<NodeId> GuessTargets(const Graph& graph);

// Whether `op` hands out elements of a tf.data pipeline ("IteratorGetNext"), which a caller replaces by feeds.
bool IsIteratorOp(absl::string_view op);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_REPORT_ENDPOINT_GUESS_H_

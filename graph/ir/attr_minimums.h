#ifndef SLUICE_GRAPH_IR_ATTR_MINIMUMS_H_
#define SLUICE_GRAPH_IR_ATTR_MINIMUMS_H_

#include "absl/status/status.h"
#include "graph/ir/graph.h"

namespace sluice {

// Checks the minima of attrs that decide how many inputs or outputs a node has (N of AddN, num_split of Split, T of
// IdentityN). TensorFlow loads graphs that break them and fails when the node is made to run, and a node without
// outputs is then found out by its fetch first: so import accepts them, and this is called for the nodes of a run.
// kAttrValue naming the first node at fault; linear.
absl::Status CheckAttrMinimums(const Graph& graph);
// The same for one node.
absl::Status CheckAttrMinimums(const Graph& graph, NodeId id);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_ATTR_MINIMUMS_H_

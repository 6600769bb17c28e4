#ifndef SLUICE_GRAPH_IR_EXTRACT_H_
#define SLUICE_GRAPH_IR_EXTRACT_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/ir/graph.h"

namespace sluice {

// A graph of its own with `nodes` of `graph`, in that order; with the same library, versions and source bytes, so that
// errors still know places in the file. Data inputs that come from other nodes are left open; control inputs from
// other nodes are left out. Nothing is checked again. Linear in what is taken (and one word per id of `graph`).
//
// `new_ids` (indexed by the old id, invalid where a node was not taken) says where the nodes went.
// REQUIRES: `nodes` are live and differ.
Graph ExtractNodes(const Graph& graph, absl::Span<const NodeId> nodes, std::vector<NodeId>* new_ids);

// The same for many disjoint parts of one graph, with the ids of all parts in one table (an id says nothing of the part
// that it is in), and libraries that are empty: functions that a part calls are added by ReachableFunctions
// (graph/placement/reachable_functions.h). Linear in the graph, however many parts there are, but for the names of
// attrs, which each part gets.
std::vector<Graph> ExtractParts(const Graph& graph, absl::Span<const std::vector<NodeId>> parts,
                                std::vector<NodeId>* new_ids);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_EXTRACT_H_

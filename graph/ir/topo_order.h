#ifndef SLUICE_GRAPH_IR_TOPO_ORDER_H_
#define SLUICE_GRAPH_IR_TOPO_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"

namespace sluice {

// Whether input `i` of `id` closes a loop: a NextIteration that feeds a Merge. Such edges are left out of orders.
bool IsBackEdge(const Graph& graph, NodeId id, const Output& source);

// Live nodes, each behind its inputs and control inputs (back edges aside); ties by ascending id.
// kCycle with the names of a shortest cycle found otherwise. Linear, not recursive.
absl::StatusOr<std::vector<NodeId>> TopologicalOrder(const Graph& graph);

// OK when there is no cycle but loops closed through NextIteration -> Merge. Cheap when ids are already in order.
// With `first`, looks at the nodes from that id on alone: no node before it waits for one of them.
absl::Status CheckAcyclic(const Graph& graph, int32_t first = 0);

// Marks (true at index id) what `roots` need: all nodes from which one of them can be reached.
std::vector<bool> ReverseReachable(const Graph& graph, absl::Span<const NodeId> roots);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_TOPO_ORDER_H_

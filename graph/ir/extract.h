#ifndef SLUICE_GRAPH_IR_EXTRACT_H_
#define SLUICE_GRAPH_IR_EXTRACT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/ir/graph.h"

namespace sluice {

// Where nodes of one graph went in another: a table by id where many went, else a search in the list of those that
// did, so that a few nodes of a large graph cost what they are. A value type.
class MovedNodes {
 public:
  MovedNodes() = default;
  // The nodes of `ascending`, out of ids below `id_limit`, become 0, 1, 2, ... in their order.
  MovedNodes(std::vector<NodeId> ascending, int32_t id_limit);

  // Invalid where it was not taken.
  NodeId Of(NodeId old) const { return table_.empty() ? Search(old) : table_[static_cast<size_t>(old.value())]; }

 private:
  NodeId Search(NodeId old) const;

  std::vector<NodeId> ascending_;
  std::vector<NodeId> table_;  // By the old id; empty where few were taken.
};

// Which functions an extracted graph has.
enum class ExtractedLibrary { kAll, kNone };

// A graph of its own with `nodes` of `graph`, in that order; with the same library, versions and source bytes, so that
// errors still know places in the file. Data inputs that come from other nodes are left open; control inputs from
// other nodes are left out. Nothing is checked again. Linear in what is taken (and one word per id of `graph`).
//
// `new_ids` (indexed by the old id, invalid where a node was not taken) says where the nodes went.
// REQUIRES: `nodes` are live and differ.
Graph ExtractNodes(const Graph& graph, absl::Span<const NodeId> nodes, std::vector<NodeId>* new_ids);

// The same for nodes in ascending order, at the cost of what is taken however large `graph` is, but for its library
// where all of it is taken. Without, the functions that nodes call are the caller's to add; the graph of a call without
// its function keeps the schema alive only as long as `graph` or a copy of its library does.
Graph ExtractNodes(const Graph& graph, const std::vector<NodeId>& ascending, ExtractedLibrary library,
                   MovedNodes* moved);

// The same for many disjoint parts of one graph, with the ids of all parts in one table (an id says nothing of the part
// that it is in), and libraries that are empty: functions that a part calls are added by ReachableFunctions
// (graph/placement/reachable_functions.h). Linear in the graph, however many parts there are, but for the names of
// attrs, which each part gets.
std::vector<Graph> ExtractParts(const Graph& graph, absl::Span<const std::vector<NodeId>> parts,
                                std::vector<NodeId>* new_ids);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_EXTRACT_H_

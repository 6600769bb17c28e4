#ifndef SLUICE_GRAPH_PLACEMENT_UNKNOWN_COLOCATION_H_
#define SLUICE_GRAPH_PLACEMENT_UNKNOWN_COLOCATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/graph.h"

namespace sluice {

// Note [Colocation with nodes that are not there]
// An attr _class may list "loc:@x" where the graph has no node x: x was left out, or a call whose body has taken its
// place. A run takes such a name for that of a group (Note [Colocation]); tf.import_graph_def refuses the graph.

// A node that nodes are to stand with and the graph does not have.
struct UnknownColocation {
  std::string name;
  NodeId first;       // Of those that name it.
  int64_t nodes = 0;  // How many do.
};

// Those of `graph`, in the order of their first nodes. Linear.
std::vector<UnknownColocation> FindUnknownColocations(const Graph& graph);

// Ties nodes that name the same unknown node to the first of them instead, which leaves all groups, and so the
// placement, as they are. For graphs that are written.
absl::Status TieUnknownColocations(Graph& graph);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_UNKNOWN_COLOCATION_H_

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

// A missing node with which nodes of the graph are to be colocated.
struct UnknownColocation {
  std::string name;
  NodeId first;       // The first node that names it.
  int64_t nodes = 0;  // How many do.
};

// Those of `graph`, in the order of their first nodes. Linear.
std::vector<UnknownColocation> FindUnknownColocations(const Graph& graph);

// Replaces the name of each unknown node by the first node that names it, which keeps all groups, and so the placement,
// the same. For graphs that are written to files.
absl::Status TieUnknownColocations(Graph& graph);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_UNKNOWN_COLOCATION_H_

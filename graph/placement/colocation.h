#ifndef SLUICE_GRAPH_PLACEMENT_COLOCATION_H_
#define SLUICE_GRAPH_PLACEMENT_COLOCATION_H_

#include <cstdint>
#include <vector>

#include "graph/ir/graph.h"

namespace sluice {

// Which nodes must share a device, as groups of a union-find forest over node ids.
//
// Note [Colocation]
// A group contains: nodes whose attr _class lists the same "loc:@x", with the node x if the graph has it; and both ends
// of an edge whose receiving port is a reference or a resource handle, because a variable or resource is on one device.
// Calls of functions accept resources of any device (their bodies are placed separately), and so do the ends of a graph
// (_Retval, _Send).
class ColocationGroups {
 public:
  // Finds the groups of `graph`. Near-linear time.
  explicit ColocationGroups(const Graph& graph);

  // The smallest id of the group of `id`.
  NodeId Root(NodeId id) const { return NodeId(parents_[static_cast<size_t>(id.value())]); }

 private:
  int32_t FindRoot(int32_t id);
  void Join(NodeId a, NodeId b);
  void JoinByClass(const Graph& graph);
  void JoinByEdges(const Graph& graph);

  std::vector<int32_t> parents_;  // Roots after construction.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_COLOCATION_H_

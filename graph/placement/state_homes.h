#ifndef SLUICE_GRAPH_PLACEMENT_STATE_HOMES_H_
#define SLUICE_GRAPH_PLACEMENT_STATE_HOMES_H_

#include <string>

#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"
#include "graph/placement/device_list.h"
#include "graph/placement/kernel_catalog.h"

namespace sluice {

// Where the state of a graph stands.
//
// Note [Homes of state]
// Every signature of a session is placed by itself, from the nodes that it needs. What a node keeps from run to run (a
// variable, a table, a queue) must stand on one device for all of them: so where a node that makes a handle of state,
// or a reference to it, asks for no device, the whole graph decides, before anything is cut out of it: the nodes that
// are tied to it (Note [Colocation]), or the session's default. Bodies of functions have no say, wherever they are
// called: they go where the resources are that they are given.
//
// Immutable; thread-safe.
class StateHomes {
 public:
  // Near-linear in `whole`, and keeps nothing of it.
  explicit StateHomes(const Graph& whole);

  // Gives the nodes of `part` that make state and ask for no device the one that the graph says, or else `otherwise`,
  // if there is a kernel. `part` was cut out of that graph: nodes have the same names.
  void Settle(const DeviceEntry& otherwise, const KernelCatalog& catalog, Graph* part) const;

 private:
  HashMap<std::string, std::string> wanted_;  // Device text by name of the node: of those for which nodes ask.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_STATE_HOMES_H_

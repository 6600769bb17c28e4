#ifndef SLUICE_GRAPH_PLACEMENT_STATE_HOMES_H_
#define SLUICE_GRAPH_PLACEMENT_STATE_HOMES_H_

#include <string>

#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"
#include "graph/placement/device_list.h"
#include "graph/placement/kernel_catalog.h"

namespace sluice {

// Decides on which devices the state of a graph lives.
//
// Note [Homes of state]
// Each signature of a session is placed separately, from the nodes that it needs. But state that outlives a run (a
// variable, a table, a queue) must be on the same device for all signatures. So for a node that makes a handle of
// state, or a reference to it, and requests no device, the whole graph decides, before any part is cut out of it: the
// requests of the nodes colocated with it (Note [Colocation]), or else the session's default. Bodies of functions do
// not count: they are placed with the resources that they are given.
//
// Immutable; thread-safe.
class StateHomes {
 public:
  // Near-linear in `whole`, and keeps nothing of it.
  explicit StateHomes(const Graph& whole);

  // Sets the device of the nodes of `part` that make state and request none: to that which the whole graph determines,
  // or else to `otherwise`, if it has a kernel. `part` was cut out of that graph, with the same node names.
  void Settle(const DeviceEntry& otherwise, const KernelCatalog& catalog, Graph* part) const;

 private:
  HashMap<std::string, std::string> wanted_;  // Device text by name of the node: of those for which nodes ask.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_STATE_HOMES_H_

#ifndef SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_
#define SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_

#include "graph/ir/graph.h"

namespace sluice {

// Removes from graph.library() what nothing needs: kept are the functions that nodes call or name in attrs, those that
// these call, and their gradients. Linear in the graph and the bodies reached; not recursive.
void KeepReachableFunctions(Graph& graph);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PLACEMENT_REACHABLE_FUNCTIONS_H_

#ifndef SLUICE_GRAPH_EDIT_VALIDATE_H_
#define SLUICE_GRAPH_EDIT_VALIDATE_H_

#include "absl/status/status.h"
#include "graph/ir/graph.h"

namespace sluice {

// Whether `graph` is what rewrites have to leave: all that CheckRunnable asks for, no cycle but through NextIteration,
// each node found under its name, and each with the types that its attrs say. The first error. Linear, about a
// microsecond a node: for tests and for builds that check invariants.
absl::Status ValidateGraph(const Graph& graph);

}  // namespace sluice

#endif  // SLUICE_GRAPH_EDIT_VALIDATE_H_

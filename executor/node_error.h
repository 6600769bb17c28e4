#ifndef SLUICE_EXECUTOR_NODE_ERROR_H_
#define SLUICE_EXECUTOR_NODE_ERROR_H_

#include "absl/status/status.h"
#include "graph/ir/graph.h"

namespace sluice {

// What a kernel of node `id` answered, with the node's name, op, place in its file, and the name of the input at fault.
absl::Status AtNode(const Graph& graph, NodeId id, const absl::Status& status);

// The exception being handled, as a status. REQUIRES: called from a catch block.
absl::Status StatusOfException();

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_NODE_ERROR_H_

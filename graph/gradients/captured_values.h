#ifndef SLUICE_GRAPH_GRADIENTS_CAPTURED_VALUES_H_
#define SLUICE_GRAPH_GRADIENTS_CAPTURED_VALUES_H_

#include "absl/status/statusor.h"
#include "graph/gradients/custom_gradient.h"
#include "graph/ir/graph.h"

namespace sluice {

// Finds the output that `capture` of `gradient` means for `node`. In an inlined body all names begin with the call's
// name, so node and value have the same prefix. kUnsupported, naming the node, if it cannot be found.
absl::StatusOr<Output> FindCapture(const Graph& graph, NodeId node, const CustomGradient& gradient,
                                   const CustomGradient::Capture& capture);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_CAPTURED_VALUES_H_

#ifndef SLUICE_GRAPH_GRADIENTS_CAPTURED_VALUES_H_
#define SLUICE_GRAPH_GRADIENTS_CAPTURED_VALUES_H_

#include "absl/status/statusor.h"
#include "graph/gradients/custom_gradient.h"
#include "graph/ir/graph.h"

namespace sluice {

// The output that `capture` of `gradient` stands for, where `node` asks for it. In a body that was put in the place of
// a call, names have the call's in front: those of the values that belong together have the same. kUnsupported, naming
// the node, where it cannot be found.
absl::StatusOr<Output> FindCapture(const Graph& graph, NodeId node, const CustomGradient& gradient,
                                   const CustomGradient::Capture& capture);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_CAPTURED_VALUES_H_

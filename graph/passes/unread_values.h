#ifndef SLUICE_GRAPH_PASSES_UNREAD_VALUES_H_
#define SLUICE_GRAPH_PASSES_UNREAD_VALUES_H_

#include "graph/passes/pass.h"

namespace sluice {

// Removes pure nodes that have no readers and that others only wait for. Those then wait for what such a node waited
// for (through a NoOp, if that is several nodes). Training graphs as TensorFlow writes them have many: the gradients of
// what an op has beside its variables stand in the group that the variables' gradients wait for. Removes only nodes
// that cannot fail, because a node that waits for a failing one must not run: nodes of ops in a table whose kernels
// fail only for mismatched shapes, with shapes known to match. (TensorFlow removes others as well.) Leaves kept nodes,
// nodes that wait for nothing, and nodes with an input that may be dead while its node is live (an output of a Switch),
// which a control edge cannot express. Linear.
class UnreadValuesPass : public Pass {
 public:
  absl::string_view name() const override { return "unread_values"; }
  // Returns the number of nodes removed.
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_UNREAD_VALUES_H_

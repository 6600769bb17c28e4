#ifndef SLUICE_GRAPH_PASSES_UNREAD_VALUES_H_
#define SLUICE_GRAPH_PASSES_UNREAD_VALUES_H_

#include "graph/passes/pass.h"

namespace sluice {

// Removes pure nodes that have no readers and that others only wait for. Those then wait for what such a node waited
// for (through a NoOp, if that is several nodes). Training graphs as TensorFlow writes them have many: the gradients of
// what an op has beside its variables stand in the group that the variables' gradients wait for. Only nodes that cannot
// fail go, as far as shapes say, for what waits for one that fails must not run: those of a table of ops whose kernels
// refuse nothing but shapes, and whose shapes are known to agree. (TensorFlow lets others go as well.) Left alone are
// kept nodes, those that wait for nothing, and those with an input whose node may be live while the input is dead (a
// Switch's), which no control edge says. Linear.
class UnreadValuesPass : public Pass {
 public:
  absl::string_view name() const override { return "unread_values"; }
  // Counts the nodes taken out.
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_UNREAD_VALUES_H_

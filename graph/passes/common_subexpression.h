#ifndef SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_
#define SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_

#include "graph/passes/pass.h"

namespace sluice {

// Replaces equal pure nodes by the first of them. Nodes are equal if op, attrs, device, inputs and control inputs are.
// The order of two inputs does not matter for commutative ops of integers and bools (for floats it does: the sum of two
// NaNs is the first). Kept nodes are not removed, but their consumers may be moved to an equal node. Attrs above some
// KiB are equal only if they are the same bytes of the file: large constants are not read for this. Linear.
class CommonSubexpressionPass : public Pass {
 public:
  absl::string_view name() const override { return "common_subexpression"; }
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_

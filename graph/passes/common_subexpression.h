#ifndef SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_
#define SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_

#include "graph/passes/pass.h"

namespace sluice {

// Joins pure nodes that are alike in op, attrs, device, inputs (in any order for commutative ops of two inputs
// whose results are the same bits then: integers and bools, for of two NaNs a sum of floats gives that of the first)
// and control inputs: the one that comes first serves all. Kept nodes are not removed, though their consumers may use
// another node alike. Values of attrs above some KiB are alike only where they are the same bytes of the file: large
// constants are not read for this. Linear.
class CommonSubexpressionPass : public Pass {
 public:
  absl::string_view name() const override { return "common_subexpression"; }
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_COMMON_SUBEXPRESSION_H_

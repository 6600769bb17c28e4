#ifndef SLUICE_GRAPH_PASSES_DEAD_BRANCH_H_
#define SLUICE_GRAPH_PASSES_DEAD_BRANCH_H_

#include "graph/passes/pass.h"

namespace sluice {

// Removes the branches that a constant predicate never takes: a Switch on a Const becomes an Identity, what is only
// reached through its other port goes, and the Merge behind has an input less (with one left, and nothing else to wait
// for, it becomes an Identity too). Left alone are branches whose deadness shows: at a fetch, a Send, a loop, a
// kept node, or a consumer of a Merge's second output.
class DeadBranchPass : public Pass {
 public:
  absl::string_view name() const override { return "dead_branch"; }
  // Counts the Switches removed.
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_DEAD_BRANCH_H_

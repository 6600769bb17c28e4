#ifndef SLUICE_GRAPH_PASSES_CONSTANT_FOLDING_H_
#define SLUICE_GRAPH_PASSES_CONSTANT_FOLDING_H_

#include <cstdint>

#include "absl/time/time.h"
#include "graph/passes/pass.h"

namespace sluice {

// Larger values are still computed in every run: folding them would bloat the graph and slow its preparation.
struct ConstantFoldingOptions {
  int64_t max_output_bytes = 10 << 20;          // Of the results of one node; as TensorFlow's.
  int64_t max_input_bytes = 10 << 20;           // Of the inputs of one node.
  int64_t max_total_bytes = int64_t{64} << 20;  // Of all results.
  absl::Duration max_time = absl::Seconds(1);   // After which no further node is computed.
};

// Replaces pure nodes all of whose data inputs are constants by constants. The new Const of a node with one output has
// its name and device; of several, "name/folded_K". It waits for all that the node and its constants waited for, so
// that it is dead, and in a frame, exactly when they were; for the sake of size, long lists of control inputs stay with
// the constant that had them, which the new one then waits for. Nodes that only hand a constant on stay, and count as
// constants. So do constants without consumers stay: prune afterwards. Kept nodes are not replaced, and nothing is
// without an evaluator. Linear but for the evaluations; one look at each node where there is nothing to fold.
class ConstantFoldingPass : public Pass {
 public:
  explicit ConstantFoldingPass(ConstantFoldingOptions options = {}) : options_(options) {}

  absl::string_view name() const override { return "constant_folding"; }
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override;

 private:
  const ConstantFoldingOptions options_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_CONSTANT_FOLDING_H_

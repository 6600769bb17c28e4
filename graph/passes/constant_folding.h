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
// its name and device; of several, "name/folded_K". It has the control inputs of the node and of its constants, so that
// its deadness and frame stay the same; a long list of control inputs is not copied: the new constant waits for the old
// one that has it. Nodes that only forward a constant stay, and count as constants. Constants without consumers also
// stay: prune afterwards. Does not replace kept nodes, and does nothing without an evaluator. Linear, apart from the
// evaluations.
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

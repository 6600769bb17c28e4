#ifndef SLUICE_GRAPH_PASSES_CONSTANT_FOLDING_H_
#define SLUICE_GRAPH_PASSES_CONSTANT_FOLDING_H_

#include <cstddef>

#include "graph/passes/constant_evaluator.h"
#include "graph/passes/pass.h"

namespace sluice {

struct ConstantFoldingOptions {
  size_t max_output_bytes = 10 << 20;  // Larger results stay computed: they would bloat the graph.
};

// Replaces pure nodes all of whose data inputs are constants by constants. The new Const of a node with one output has
// its name and device; of several, "name/folded_K". It waits for all that the node and its constants waited for, so
// that it is dead, and in a frame, exactly when they were; for the sake of size, long lists of control inputs stay with
// the constant that had them, which the new one then waits for. Constants without consumers stay: prune afterwards.
// Borrows the evaluator. Linear but for the evaluations.
class ConstantFoldingPass : public Pass {
 public:
  explicit ConstantFoldingPass(const ConstantEvaluator& evaluator, ConstantFoldingOptions options = {})
      : evaluator_(evaluator), options_(options) {}

  absl::string_view name() const override { return "constant_folding"; }
  absl::StatusOr<int64_t> Run(Graph& graph) const override;

 private:
  const ConstantEvaluator& evaluator_;
  const ConstantFoldingOptions options_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_CONSTANT_FOLDING_H_

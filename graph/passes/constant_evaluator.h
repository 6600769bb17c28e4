#ifndef SLUICE_GRAPH_PASSES_CONSTANT_EVALUATOR_H_
#define SLUICE_GRAPH_PASSES_CONSTANT_EVALUATOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/value/tensor.h"

namespace sluice {

// Computes single nodes at the time a graph is prepared. Implemented above, where kernels are.
// Thread-safety: Evaluate from any thread.
class ConstantEvaluator {
 public:
  virtual ~ConstantEvaluator() = default;

  // The outputs of node `id`, which IsPure, for these inputs. Any error means that the node is left for run time, where
  // it fails, or not, when and if it is reached.
  virtual absl::StatusOr<std::vector<Tensor>> Evaluate(const Graph& graph, NodeId id,
                                                       absl::Span<const Tensor> inputs) const = 0;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_CONSTANT_EVALUATOR_H_

#ifndef SLUICE_GRAPH_PASSES_CONSTANT_EVALUATOR_H_
#define SLUICE_GRAPH_PASSES_CONSTANT_EVALUATOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/graph.h"
#include "graph/value/tensor.h"

namespace sluice {

// Computes single nodes while a graph is prepared. Implemented in a higher layer, which has the kernels.
// Thread-safety: Evaluate from any thread.
class ConstantEvaluator {
 public:
  virtual ~ConstantEvaluator() = default;

  // Returns the outputs of node `id`, which IsPure, for these inputs. After any error the node is left to the run,
  // where it fails, if at all, when it is reached.
  virtual absl::StatusOr<std::vector<Tensor>> Evaluate(const Graph& graph, NodeId id,
                                                       absl::Span<const Tensor> inputs) const = 0;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_CONSTANT_EVALUATOR_H_

#ifndef SLUICE_GRAPH_GRADIENTS_FUNCTION_CALLS_H_
#define SLUICE_GRAPH_GRADIENTS_FUNCTION_CALLS_H_

// Note [Gradients of functions]
// Where a call, an If, a Case or a While lies between xs and ys, its functions are put in its place first, conditionals
// and loops of functions as Switch, Merge, Enter and Exit (Note [Inlining]); the gradient is that of what then stands
// there. It keeps what it needs of a body's values as it does of all others, and nothing of a body is computed twice,
// effects and random numbers included. A node with the name of each such call stays, and gives what the call gave; its
// id is another one. Calls elsewhere stay as they are, and so do those that have gradients of their own (Note [Own
// gradients] in own_gradients.h). This is done on a copy, which takes the graph's place when all has gone well.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/gradients/gradient_region.h"
#include "graph/gradients/gradients.h"
#include "graph/gradients/own_gradients.h"
#include "graph/ir/graph.h"

namespace sluice {

// Whether a gradient flows through a node of the region that calls functions, and has none of its own.
bool FlowsThroughCalls(const Graph& graph, const GradientRegion& region, OwnGradients& own);

// A graph in which no node on the way from xs to ys calls what can be put in its place.
class GraphOfBodies {
 public:
  // `region` is one of `graph`.
  static absl::StatusOr<GraphOfBodies> Make(const Graph& graph, const GradientRegion& region,
                                            const GradientOptions& options);

  Graph& graph() { return graph_; }
  // What stands for outputs of the first graph. Unset ones stay unset.
  std::vector<Output> Find(const Graph& before, absl::Span<const Output> outputs) const;

 private:
  explicit GraphOfBodies(Graph graph) : graph_(std::move(graph)) {}

  Graph graph_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_FUNCTION_CALLS_H_

#ifndef SLUICE_GRAPH_GRADIENTS_FUNCTION_CALLS_H_
#define SLUICE_GRAPH_GRADIENTS_FUNCTION_CALLS_H_

// Note [Gradients of functions]
// A call, an If, a Case or a While between xs and ys is first replaced by its functions' bodies, conditionals and loops
// by Switch, Merge, Enter and Exit (Note [Inlining]), and the result is differentiated. It keeps the values of bodies
// that it needs like all others, and computes nothing of a body twice, effects and random numbers included. A node with
// the name of each such call stays, with the call's outputs but another id. Calls elsewhere stay as they are, and so do
// those with gradients of their own (Note [Own gradients] in own_gradients.h). All this is done on a copy, which
// replaces the graph on success.

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

// A graph without calls on the way from xs to ys that can be replaced by bodies.
class GraphOfBodies {
 public:
  // `region` is one of `graph`.
  static absl::StatusOr<GraphOfBodies> Make(const Graph& graph, const GradientRegion& region,
                                            const GradientOptions& options);

  Graph& graph() { return graph_; }
  // Finds the outputs that correspond to those of the first graph. Unset ones stay unset.
  std::vector<Output> Find(const Graph& before, absl::Span<const Output> outputs) const;

 private:
  explicit GraphOfBodies(Graph graph) : graph_(std::move(graph)) {}

  Graph graph_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_FUNCTION_CALLS_H_

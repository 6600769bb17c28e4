#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENTS_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENTS_H_

// Gradients as graphs: AddGradients adds the nodes that compute the derivatives of outputs with respect to others.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/gradients/custom_gradient.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_table.h"
#include "graph/ir/graph.h"

namespace sluice {

struct GradientOptions {
  // What to give for an x that no y depends on.
  enum class Unconnected : uint8_t { kNone, kZero };
  // How several gradients of one output are added, always in the order of the edges.
  enum class Aggregation : uint8_t {
    kAddN,       // One AddN: all terms are alive until the last one is there.
    kTree,       // Adds in pairs, as a balanced tree.
    kStreaming,  // Adds one after the other: at most two terms are alive.
  };

  // The first gradient of each y, of its type and shape. Unset ones, or an empty list: ones.
  std::vector<Output> grad_ys;
  // Treated as constants: they get gradients, but none flow further.
  std::vector<Output> stop;
  Unconnected unconnected = Unconnected::kNone;
  Aggregation aggregation = Aggregation::kAddN;
  // Colocates each node with its forward node, besides giving it that node's device.
  bool colocate = false;
  // The first part of the names of all nodes; gets a number if the graph has such names.
  std::string name = "gradients";
  // Rows for this call, searched before the table; also rows of types that nodes state (`_gradient_op_type`). For rows
  // of a host's own ops see added_gradients.h.
  std::vector<GradientRow> rows;
  // Gradients of nodes with op types of their own, from a SavedModel (graph/load/custom_gradients.h). Those that the
  // graph's library registers need not be listed.
  std::vector<CustomGradient> custom;
  // Functions whose calls are recomputed in the backward pass, so that nothing of their bodies is kept; in addition to
  // those with an attr `_recompute_grad`, or called by nodes with it. See Note [Own gradients].
  std::vector<std::string> recompute;
  // max_nodes bounds the graph with its gradients, max_expanded_nodes the nodes that functions add.
  LoadLimits limits;
  StopPoll* stop_poll = nullptr;  // Polled; null: never stops. Its error leaves the graph as before.
  // How many functions the graph is nested in. For AddGradients itself.
  int depth = 0;
};

struct GradientResult {
  std::vector<Gradient> xs;  // One for each x; none if it is not connected.
  std::string name;          // The first part of the added nodes' names, without the "/".
  int64_t num_added = 0;
};

// Adds to `graph` nodes that compute, for each x, the sum over all ys of grad_y * dy/dx. One sweep from ys to xs, not
// recursive, in time linear in what lies between them. A y may be an x, or feed other ys; xs may lie between others and
// ys. On error (no gradient for an op on the way, which the error names) the graph is as before. Where calls of
// functions lie on the way they are replaced by bodies, and ids of such calls are not valid any more; names are. See
// Note [Gradients of functions] in function_calls.h. `before`, where it is not null, then takes the graph as it was.
absl::StatusOr<GradientResult> AddGradients(Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> xs,
                                            const GradientOptions& options = {},
                                            std::optional<Graph>* before = nullptr);

// Gives `gradient`, of `x`, as one tensor: adds up the rows of a sparse one, and makes zeros where it is not set. Names
// of added nodes begin with `name`; `of_variable` is as in GradientEmitter::Zeros.
absl::StatusOr<Output> DenseGradient(Graph& graph, const Output& x, const Gradient& gradient, const std::string& name,
                                     DType of_variable = DType::kInvalid);

// Names the same `node`, or like it where that is taken: for callers that fetch it by name.
absl::StatusOr<Output> NameGradient(Graph& graph, const Output& x, const Gradient& gradient, const std::string& name,
                                    const std::string& node);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENTS_H_

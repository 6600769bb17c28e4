#ifndef SLUICE_GRAPH_GRADIENTS_OWN_GRADIENTS_H_
#define SLUICE_GRAPH_GRADIENTS_OWN_GRADIENTS_H_

// Note [Own gradients]
// Some nodes have gradients of their own, which override the row of their op:
//   1. A node with `_gradient_op_type` (an IdentityN around the results of tf.custom_gradient, or any op under a
//      gradient_override_map): the function that the library registers for that type, or GradientOptions::custom, or
//      the row of that name. Without any of these it is an error, as in TensorFlow.
//   2. A call of a function for which the library states a gradient (GradientDef): that function, called with the
//      arguments and the gradients of the results.
//   3. A call that is computed again: its gradient function (Note [Gradient functions]), which waits for the gradients
//      of the results. Only the call's arguments are kept. Variables are read again, and must not change in between;
//      ops whose results differ the second time, or that have effects, are refused (stateless random ops are not).
// The types that calls state are TensorFlow's own book-keeping and mean nothing here. Calls of 2 and 3 stay calls where
// others are replaced by bodies (Note [Gradients of functions]).

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/functions/call_site.h"
#include "graph/gradients/body_gradient.h"
#include "graph/gradients/gradient_context.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/graph.h"

namespace sluice {

// The own gradients of nodes of a graph. Borrows the graph, which may grow, and the options. Not thread-safe.
class OwnGradients {
 public:
  OwnGradients(const Graph& graph, const GradientOptions& options);

  // Whether the node has a gradient of its own.
  bool Has(NodeId id) { return KindOf(id) != Kind::kNone; }
  // Whether gradients use values of bodies that the bodies' results do not depend on.
  bool TakeValuesOfBodies() const;
  // Sets the gradients of the inputs. REQUIRES: Has(c.node()).
  absl::Status Call(GradientContext& c);

 private:
  enum class Kind : uint8_t { kNone, kOfType, kStated, kRecomputed };

  Kind KindOf(NodeId id);
  // The node's `_gradient_op_type` if it applies; else empty.
  absl::string_view TypeOf(NodeId id);
  absl::Status CallOfType(GradientContext& c, absl::string_view type);
  absl::Status CallRegistered(GradientContext& c, const CustomGradient& gradient);
  absl::Status CallStated(GradientContext& c);
  absl::Status CallRecomputed(GradientContext& c);
  // Finds the gradient of the type in the library; an error if it is incomplete.
  absl::StatusOr<CustomGradient> FromLibrary(const GradientContext& c, absl::string_view type) const;
  absl::StatusOr<const BodyGradient*> GradientOf(const GradientContext& c, const BoundFunction& function);

  const Graph& graph_;
  const GradientOptions& options_;
  CallFinder finder_;
  HashMap<std::string, BodyGradient> made_;  // By the function, its attrs, and what has gradients.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_OWN_GRADIENTS_H_

#ifndef SLUICE_GRAPH_GRADIENTS_OWN_GRADIENTS_H_
#define SLUICE_GRAPH_GRADIENTS_OWN_GRADIENTS_H_

// Note [Own gradients]
// Some nodes have gradients of their own, whatever the row of their op says:
//   1. A node that states `_gradient_op_type` (an IdentityN around what tf.custom_gradient gave, or any op under a
//      gradient_override_map): the function that the library registers for that type, or GradientOptions::custom, or
//      the row of that name. It is an error where there is none of these; TensorFlow's error too.
//   2. A call of a function for which the library states a gradient (GradientDef): that function, called with the
//      arguments and the gradients of the results.
//   3. A call that is computed again: its gradient function (Note [Gradient functions]), which waits for the gradients
//      of the results. What is kept is the call's arguments. Variables are read again, and must not change between; ops
//      that answer something else the second time, or have effects, are refused. Stateless random ops are not among
//      those.
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

// Which nodes of a graph have gradients of their own, and what these are. Borrows the graph, which may grow, and the
// options. Not thread-safe.
class OwnGradients {
 public:
  OwnGradients(const Graph& graph, const GradientOptions& options);

  // Whether the row of its op is not what counts.
  bool Has(NodeId id) { return KindOf(id) != Kind::kNone; }
  // Whether gradients take values of bodies that the bodies' results do not need.
  bool TakeValuesOfBodies() const;
  // Sets the gradients of the inputs. REQUIRES: Has(c.node()).
  absl::Status Call(GradientContext& c);

 private:
  enum class Kind : uint8_t { kNone, kOfType, kStated, kRecomputed };

  Kind KindOf(NodeId id);
  // What the node states, where it counts; else empty.
  absl::string_view TypeOf(NodeId id);
  absl::Status CallOfType(GradientContext& c, absl::string_view type);
  absl::Status CallRegistered(GradientContext& c, const CustomGradient& gradient);
  absl::Status CallStated(GradientContext& c);
  absl::Status CallRecomputed(GradientContext& c);
  // What the library alone says of the type; an error where that is not enough.
  absl::StatusOr<CustomGradient> FromLibrary(const GradientContext& c, absl::string_view type) const;
  absl::StatusOr<const BodyGradient*> GradientOf(const GradientContext& c, const BoundFunction& function);

  const Graph& graph_;
  const GradientOptions& options_;
  CallFinder finder_;
  HashMap<std::string, BodyGradient> made_;  // By the function, its attrs, and what has gradients.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_OWN_GRADIENTS_H_

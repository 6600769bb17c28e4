#ifndef SLUICE_GRAPH_GRADIENTS_BODY_GRADIENT_H_
#define SLUICE_GRAPH_GRADIENTS_BODY_GRADIENT_H_

// Note [Gradient functions]
// The gradient of a function (or of a single op) as a function of its own: it takes what the function takes and one
// gradient for each result that has one, computes the function again, and gives the gradients of the arguments. It is
// what SymbolicGradient means, and how a call is computed again in the backward pass instead of keeping its values:
//
//     f(x...) -> y...       gradient_of_f(x..., dy...) -> dx...
//
// With `waits`, the second computation begins when all dys are there: the arguments go through Identities with control
// edges from the dys. Otherwise it could run at the same time as the first one.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/functions/attr_binding.h"
#include "graph/functions/instantiate.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/graph.h"

namespace sluice {

struct BodyGradientSpec {
  std::string name;          // Made unique in the library.
  std::vector<bool> has_dy;  // By result: which have a gradient, and so an argument.
  std::vector<bool> has_dx;  // By argument: whose gradients are wanted.
  bool waits = false;        // See Note [Gradient functions].
  // Gives one tensor for each wanted argument: zeros for missing gradients, dense tensors for sparse ones. For handles
  // the type is in `handle_types`, by argument.
  bool fills = false;
  std::vector<DType> handle_types;
};

// A gradient function, and where the gradients of the arguments are among its results.
struct BodyGradient {
  struct Part {
    Gradient::Kind kind = Gradient::Kind::kNone;
    int32_t first = 0;       // The first of its one to three results: values, indices, and the shape if known.
    bool has_shape = false;  // kSlices.
  };
  std::string name;
  std::vector<Part> parts;  // By argument.
  std::vector<DType> result_types;
};

// Makes the gradient of `forward` (an instantiated function, or GraphOfOp) and adds it and the functions that it calls
// to `library`, of which `forward` has a copy. `options` are those of AddGradients; ys, seeds and stops are not used.
absl::StatusOr<BodyGradient> MakeBodyGradient(FunctionGraph forward, const BodyGradientSpec& spec,
                                              const GradientOptions& options, FunctionLibrary* library);

// A graph like that of a function, which holds one node of `op` with these attrs: at most limits.max_inputs_per_node
// inputs and outputs.
absl::StatusOr<FunctionGraph> GraphOfOp(const Graph& graph, const OpSchema& op, const BoundAttrs& attrs,
                                        const LoadLimits& limits);

// Makes all users of `from[i]` except `but` use `to[i]` instead. Linear.
absl::Status TurnUses(Graph& graph, absl::Span<const NodeId> from, absl::Span<const NodeId> to,
                      absl::Span<const NodeId> but);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_BODY_GRADIENT_H_

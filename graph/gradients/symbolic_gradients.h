#ifndef SLUICE_GRAPH_GRADIENTS_SYMBOLIC_GRADIENTS_H_
#define SLUICE_GRAPH_GRADIENTS_SYMBOLIC_GRADIENTS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/base/limits.h"
#include "graph/functions/inliner.h"
#include "graph/ir/graph.h"

namespace sluice {

// Note [Symbolic gradients]
// A SymbolicGradient node takes the arguments of f and one gradient for each result of f, and gives the gradients of
// the arguments. f is a function, or an op; the function that the library states for it (GradientDef) is called, else
// its gradient function is made (Note [Gradient functions]). As in TensorFlow, missing gradients are zeros, those of
// handles have the node's type, and the body of f is computed again, effects included. Beyond TensorFlow, f may contain
// every op of the table.

// Replaces each SymbolicGradient node for which `wants` is true by a PartitionedCall of its name. Returns their number.
// Errors name the node: kAttrMissing, kFunctionUnknown, kFunctionArity, kUnsupported (f is SymbolicGradient, or an op
// in it has no gradient); those of `limits`, which the gradient functions keep.
absl::StatusOr<int64_t> ExpandSymbolicGradients(Graph& graph, absl::FunctionRef<bool(NodeId id)> wants,
                                                const LoadLimits& limits);

// InlineFunctionCalls of a graph after its SymbolicGradient nodes are replaced, and those that come out of bodies.
absl::StatusOr<InlineReport> InlineCallsAndGradients(Graph& graph, const InlineOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_SYMBOLIC_GRADIENTS_H_

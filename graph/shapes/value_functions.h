#ifndef SLUICE_GRAPH_SHAPES_VALUE_FUNCTIONS_H_
#define SLUICE_GRAPH_SHAPES_VALUE_FUNCTIONS_H_

#include "absl/strings/string_view.h"
#include "graph/shapes/inference_context.h"

namespace sluice {

// Follows the contents of small integer tensors through one node whose output shapes are set: says with
// InferenceContext::SetValue what is known of its outputs. Ops that always know them (Shape, Range, Fill, what passes
// values on) do so in their shape function. Stateless, thread-safe.
using ValueFunction = void (*)(InferenceContext& c);

// The function for `op`, or null.
ValueFunction FindValueFunction(absl::string_view op);

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_VALUE_FUNCTIONS_H_

#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_ROW_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_ROW_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

class GradientContext;

// Adds the nodes that compute the gradients of a node's inputs from those of its outputs; see GradientContext.
// Stateless, thread-safe.
using GradientFunction = absl::Status (*)(GradientContext& c);

// The gradient of one op. Each family has a constexpr table of rows with functions, sorted by op; the other kinds are
// traits of the op (graph/ops/op_traits.txt), or set by a host for its own ops.
struct GradientRow {
  enum class Kind : uint8_t {
    kFunction,
    kNone,         // Not differentiable: shapes, comparisons, integers, effects.
    kRefused,      // Neither TensorFlow nor we compute its derivative: an error if a gradient arrives.
    kControlFlow,  // Done by the sweep itself: Enter, Exit, NextIteration, and Switch and Merge of loops.
  };

  constexpr GradientRow(absl::string_view op_name, GradientFunction f) : op(op_name), function(f) {}
  constexpr GradientRow(absl::string_view op_name, Kind k) : op(op_name), kind(k) {}

  absl::string_view op;
  Kind kind = Kind::kFunction;
  GradientFunction function = nullptr;
};
inline constexpr GradientRow::Kind kNoGradient = GradientRow::Kind::kNone;

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_ROW_H_

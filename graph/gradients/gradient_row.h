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
// traits of the op (graph/ops/op_traits.txt), or what a host says of its own.
struct GradientRow {
  enum class Kind : uint8_t {
    kFunction,
    kNone,     // Does not depend on its inputs in a way that has a derivative: shapes, comparisons, integers, effects.
    kRefused,  // Has a derivative, which neither TensorFlow nor we compute: an error where a gradient arrives.
    kControlFlow,  // The sweep itself knows how: Enter, Exit, NextIteration, and Switch and Merge of loops.
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

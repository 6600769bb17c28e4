#ifndef SLUICE_GRAPH_SHAPES_SHAPE_FUNCTIONS_H_
#define SLUICE_GRAPH_SHAPES_SHAPE_FUNCTIONS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/shapes/inference_context.h"

namespace sluice {

// Sets the output shapes of one node; see InferenceContext. Stateless, thread-safe.
using ShapeFunction = absl::Status (*)(InferenceContext& c);

// The shape function of one op. Each family has a constexpr table of rows, sorted by op.
struct ShapeRow {
  absl::string_view op;
  ShapeFunction function;
};

// Whether the rows of a family ascend by op, for a static_assert behind each table.
template <size_t N>
constexpr bool RowsAscend(const ShapeRow (&rows)[N]) {
  for (size_t i = 1; i < N; ++i) {
    if (!(rows[i - 1].op < rows[i].op)) return false;
  }
  return true;
}

// The function for `op`; if null, its outputs are unknown and its inputs are not checked.
ShapeFunction FindShapeFunction(absl::string_view op);

// Follows the contents of small integer tensors through one node whose output shapes are set: says with
// InferenceContext::SetValue what is known of its outputs. Ops that always know them (Shape, Range, Fill, what passes
// values on) do so in their shape function. Stateless, thread-safe.
using ValueFunction = void (*)(InferenceContext& c);

// The function for `op`, or null.
ValueFunction FindValueFunction(absl::string_view op);

// All families, for tests: no op stands in two of them.
absl::Span<const absl::Span<const ShapeRow>> ShapeFamilies();

}  // namespace sluice

#endif  // SLUICE_GRAPH_SHAPES_SHAPE_FUNCTIONS_H_

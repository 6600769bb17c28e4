#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_TABLE_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_TABLE_H_

#include <cstddef>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/gradients/gradient_context.h"
#include "graph/gradients/gradient_row.h"

namespace sluice {

// Whether the rows of a family ascend by op, for a static_assert behind each table.
template <size_t N>
constexpr bool RowsAscend(const GradientRow (&rows)[N]) {
  for (size_t i = 1; i < N; ++i) {
    if (!(rows[i - 1].op < rows[i].op)) return false;
  }
  return true;
}

// Returns the row of `op`, or null if it is unknown. Ops without a function also have a row, made from
// graph/ops/op_traits.txt; its `op` is empty.
const GradientRow* FindGradientRow(absl::string_view op);

// All families, for tests: the ops with a function, none in two of them.
absl::Span<const absl::Span<const GradientRow>> GradientFamilies();

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_TABLE_H_

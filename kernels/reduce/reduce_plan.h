#ifndef SLUICE_KERNELS_REDUCE_REDUCE_PLAN_H_
#define SLUICE_KERNELS_REDUCE_REDUCE_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/value/shape.h"
#include "kernels/array/strided_copy.h"
#include "kernels/kernel_context.h"

namespace sluice {

// A reduction over any axes, seen as three loops: for each of `outer` and `inner` positions, `reduced` elements become
// one. Axes that lie next to each other and share their fate are joined; what is left is one of
//   [reduced]  [outer, reduced]  [reduced, inner]  [outer, reduced, inner]
// or a finer mixture, which is first brought into the order [outer, reduced] by a transposing copy.
// A value type.
struct ReducePlan {
  Shape shape;  // Of the result.
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
  bool is_mixed = false;
  CopyAxes order;  // The copy that a mixture needs.
};

// Plans the reduction of a tensor of shape `shape` over the axes that are input `axes_input`: a scalar or a vector;
// negative ones count from the end. kOpValue for one that is out of range or named twice.
absl::StatusOr<ReducePlan> PlanReduction(const KernelContext& context, const Shape& shape, int axes_input,
                                         bool keep_dims);

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_REDUCE_PLAN_H_

#ifndef SLUICE_EXECUTOR_TAPE_SHAPE_OPS_H_
#define SLUICE_EXECUTOR_TAPE_SHAPE_OPS_H_

// Ops that move, pick and repeat elements. Part of ops.h, which says what is true of all.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "executor/tape/var.h"

namespace sluice {

// The same value as a variable of its own, which gradients flow through (Detach: none do).
Var Clone(const Var& x);

// --- Shapes ----------------------------------------------------------------------------------------------------------
// One dimension may be -1: what is left.
Var Reshape(const Var& x, absl::Span<const int64_t> shape);
// Axes `first` to `last` become one.
Var Flatten(const Var& x, int32_t first = 0, int32_t last = -1);
// An axis of one element more, which becomes number `axis`.
Var Unsqueeze(const Var& x, int32_t axis);
// Without axes of one element: all of them, or the given ones.
Var Squeeze(const Var& x);
Var Squeeze(const Var& x, absl::Span<const int32_t> axes);
Var BroadcastTo(const Var& x, absl::Span<const int64_t> shape);
// Axis i of the result is axis permutation[i] of x.
Var Transpose(const Var& x, absl::Span<const int32_t> permutation);
// With two axes in each other's place.
Var SwapAxes(const Var& x, int32_t axis, int32_t other);

// --- Parts -----------------------------------------------------------------------------------------------------------
inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();
// Elements [begin, end) of one axis, each `step`-th. Negative ones count from the end; what lies outside is cut off.
Var Slice(const Var& x, int32_t axis, int64_t begin, int64_t end = kToTheEnd, int64_t step = 1);
// Element `index` of one axis, which the result lacks. A negative one counts from the end.
Var Select(const Var& x, int32_t axis, int64_t index);
// Elements `indices` (a vector, or of any shape) of one axis.
Var IndexSelect(const Var& x, int32_t axis, const Var& indices);
Var IndexSelect(const Var& x, int32_t axis, absl::Span<const int64_t> indices);
// result[i][j][k] = x[index[i][j][k]][j][k] for axis 0, x[i][index[i][j][k]][k] for axis 1, and so on. `indices`, as
// many axes as x, may be shorter along the others.
Var Gather(const Var& x, int32_t axis, const Var& indices);

// --- Joins and splits ------------------------------------------------------------------------------------------------
Var Concat(absl::Span<const Var> parts, int32_t axis);
// Along an axis more, which becomes number `axis`.
Var Stack(absl::Span<const Var> parts, int32_t axis = 0);
// `parts` of them in any case, of equal length.
std::vector<Var> Split(const Var& x, int32_t axis, int32_t parts);
// Of these lengths; one may be -1: what is left.
std::vector<Var> SplitSizes(const Var& x, int32_t axis, absl::Span<const int64_t> sizes);
// The elements of one axis, which they lack.
std::vector<Var> Unstack(const Var& x, int32_t axis = 0);

// --- Others ----------------------------------------------------------------------------------------------------------
// `repeats[i]` times along axis i.
Var Tile(const Var& x, absl::Span<const int64_t> repeats);
// `padding[i]`: how many elements of `value` come before and behind those of axis i.
Var Pad(const Var& x, absl::Span<const std::pair<int64_t, int64_t>> padding, double value = 0);
// In the other direction along these axes.
Var Flip(const Var& x, absl::Span<const int32_t> axes);
// Along a last axis of `depth`: one at each index, zeros elsewhere.
Var OneHot(const Var& indices, int64_t depth, DType type = DType::kFloat);
// The `k` largest of the last axis, in descending order, and where they were.
std::pair<Var, Var> TopK(const Var& x, int32_t k);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_SHAPE_OPS_H_

#ifndef SLUICE_EXECUTOR_TAPE_SHAPE_OPS_H_
#define SLUICE_EXECUTOR_TAPE_SHAPE_OPS_H_

// Ops that move, pick and repeat elements. Part of ops.h, whose rules apply.

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "executor/tape/var.h"

namespace sluice {

// A new variable with the same value, which gradients flow through (Detach: none do).
Var Clone(const Var& x);

// --- Shapes ----------------------------------------------------------------------------------------------------------
// One dimension may be -1: it is computed from the others.
Var Reshape(const Var& x, absl::Span<const int64_t> shape);
// Merges axes `first` to `last` into one.
Var Flatten(const Var& x, int32_t first = 0, int32_t last = -1);
// Inserts an axis of length 1 at `axis`.
Var Unsqueeze(const Var& x, int32_t axis);
// Drops all axes of length 1, or the given ones.
Var Squeeze(const Var& x);
Var Squeeze(const Var& x, absl::Span<const int32_t> axes);
Var BroadcastTo(const Var& x, absl::Span<const int64_t> shape);
// Axis i of the result is axis permutation[i] of x.
Var Transpose(const Var& x, absl::Span<const int32_t> permutation);
// Swaps two axes.
Var SwapAxes(const Var& x, int32_t axis, int32_t other);

// --- Parts -----------------------------------------------------------------------------------------------------------
inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();
// Elements [begin, end) of one axis, each `step`-th. Negative bounds count from the end; bounds outside are clamped.
Var Slice(const Var& x, int32_t axis, int64_t begin, int64_t end = kToTheEnd, int64_t step = 1);
// Takes element `index` of one axis and drops the axis. A negative index counts from the end.
Var Select(const Var& x, int32_t axis, int64_t index);
// Elements `indices` (a vector, or of any shape) of one axis.
Var IndexSelect(const Var& x, int32_t axis, const Var& indices);
Var IndexSelect(const Var& x, int32_t axis, absl::Span<const int64_t> indices);
// result[i][j][k] = x[index[i][j][k]][j][k] for axis 0, x[i][index[i][j][k]][k] for axis 1, and so on. `indices`, as
// many axes as x, may be shorter along the others.
Var Gather(const Var& x, int32_t axis, const Var& indices);

// --- Joins and splits ------------------------------------------------------------------------------------------------
Var Concat(absl::Span<const Var> parts, int32_t axis);
// Joins equal shapes along a new axis, number `axis`.
Var Stack(absl::Span<const Var> parts, int32_t axis = 0);
// Cuts an axis into `parts` equal parts; returns as many even on failure.
std::vector<Var> Split(const Var& x, int32_t axis, int32_t parts);
// Cuts an axis into parts of these lengths; one may be -1: the rest.
std::vector<Var> SplitSizes(const Var& x, int32_t axis, absl::Span<const int64_t> sizes);
// Returns the elements of one axis, without that axis.
std::vector<Var> Unstack(const Var& x, int32_t axis = 0);

// --- Others ----------------------------------------------------------------------------------------------------------
// Repeats x `repeats[i]` times along axis i.
Var Tile(const Var& x, absl::Span<const int64_t> repeats);
// Adds `padding[i]` elements of `value` before and after those of axis i.
Var Pad(const Var& x, absl::Span<const std::pair<int64_t, int64_t>> padding, double value = 0);
// Reverses these axes.
Var Flip(const Var& x, absl::Span<const int32_t> axes);
// Along a last axis of `depth`: one at each index, zeros elsewhere.
Var OneHot(const Var& indices, int64_t depth, DType type = DType::kFloat);
// The `k` largest of the last axis, in descending order, and where they were.
std::pair<Var, Var> TopK(const Var& x, int32_t k);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_SHAPE_OPS_H_

#include "executor/tape/shape_ops.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "executor/tape/axis.h"
#include "executor/tape/ops.h"
#include "executor/tape/record.h"
#include "graph/base/error.h"
#include "graph/value/tensor_numbers.h"

namespace sluice {
namespace {

Var Vector32(const Var& like, absl::Span<const int32_t> values) {
  return ConstantLike(like, Tensor::Vector<int32_t>(values));
}
Var Vector64(const Var& like, absl::Span<const int64_t> values) {
  return ConstantLike(like, Tensor::Vector<int64_t>(values));
}
Var Scalar32(const Var& like, int32_t value) { return ConstantLike(like, Tensor::Scalar(value)); }

absl::Status WrongShape(absl::string_view op, absl::string_view text, absl::string_view found) {
  return Error(ErrorCode::kOpShape).Node(op, op).Text(text).Found(found);
}

// StridedSlice of one axis; with `shrinks`, takes the element at `begin` and drops the axis.
Var SliceAxis(const Var& x, int32_t axis, int64_t begin, int64_t end, int64_t step, bool shrinks) {
  const absl::StatusOr<int32_t> at = AxisOf("StridedSlice", x, axis);
  if (!at.ok()) return Var::Failed(at.status());
  constexpr int kMaxRank = 31;  // Bits of a mask.
  const int rank = x.shape().rank();
  if (rank == 0 || rank > kMaxRank) {
    return Var::Failed(WrongShape("StridedSlice", "needs between 1 and 31 axes", x.shape().ToString()));
  }
  const auto size = static_cast<size_t>(rank), place = static_cast<size_t>(*at);
  std::vector<int64_t> begins(size, 0), ends(size, 0), steps(size, 1);
  begins[place] = begin;
  ends[place] = end;
  steps[place] = step;
  const int64_t bit = int64_t{1} << *at, all = (int64_t{1} << rank) - 1;
  return CallOp("StridedSlice", {x, Vector64(x, begins), Vector64(x, ends), Vector64(x, steps)},
                {{"begin_mask", all & ~bit},
                 {"end_mask", end == kToTheEnd ? all : all & ~bit},
                 {"shrink_axis_mask", shrinks ? bit : int64_t{0}}});
}

// Why `indices` does not fit x in Gather; OK where it does.
absl::Status CheckGather(const Var& x, int32_t axis, const Var& indices) {
  const int rank = x.shape().rank();
  if (rank == 0 || indices.shape().rank() != rank) {
    return WrongShape("Gather", "needs as many axes of x, one at least, as of its indices",
                      absl::StrCat(x.shape().ToString(), " and ", indices.shape().ToString()));
  }
  for (int32_t d = 0; d < rank; ++d) {
    if (d == axis || indices.shape().dim(d) <= x.shape().dim(d)) continue;
    return WrongShape("Gather", absl::StrCat("has more indices than elements along axis ", d),
                      absl::StrCat(indices.shape().ToString(), " for ", x.shape().ToString()));
  }
  return absl::OkStatus();
}

Var NoParts(absl::string_view op) {
  return Var::Failed(Error(ErrorCode::kInputCount).Node(op, op).Text("has no parts"));
}

}  // namespace

absl::StatusOr<int32_t> AxisOf(absl::string_view op, const Var& x, int32_t axis) {
  const absl::Status status = CheckDefined(x);
  if (!status.ok()) return status;
  const int32_t rank = std::max(1, x.shape().rank());
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return Error(ErrorCode::kOpShape)
      .Node(op, op)
      .Text(absl::StrCat("has no axis ", axis))
      .Found(x.shape().ToString())
      .Expected(absl::StrCat("an axis of ", -rank, " to ", rank - 1));
}

Var Clone(const Var& x) { return CallOp("Identity", {x}); }

// --- Shapes ----------------------------------------------------------------------------------------------------------

Var Reshape(const Var& x, absl::Span<const int64_t> shape) { return CallOp("Reshape", {x, Vector64(x, shape)}); }

Var Flatten(const Var& x, int32_t first, int32_t last) {
  const absl::StatusOr<int32_t> begin = AxisOf("Reshape", x, first), end = AxisOf("Reshape", x, last);
  if (!begin.ok() || !end.ok()) return Var::Failed(begin.ok() ? end.status() : begin.status());
  if (*begin > *end) {
    return Var::Failed(WrongShape("Reshape", "flattens to an axis before the first one", absl::StrCat(*end)));
  }
  const absl::Span<const int64_t> dims = x.shape().dims();
  std::vector<int64_t> shape(dims.begin(), dims.begin() + std::min<int>(*begin, x.shape().rank()));
  int64_t joined = 1;
  for (int32_t d = *begin; d <= *end && d < x.shape().rank(); ++d) joined *= x.shape().dim(d);
  shape.push_back(joined);
  for (int32_t d = *end + 1; d < x.shape().rank(); ++d) shape.push_back(x.shape().dim(d));
  return Reshape(x, shape);
}

Var Unsqueeze(const Var& x, int32_t axis) { return CallOp("ExpandDims", {x, Scalar32(x, axis)}); }

Var Squeeze(const Var& x) { return CallOp("Squeeze", {x}); }
Var Squeeze(const Var& x, absl::Span<const int32_t> axes) {
  std::vector<int64_t> gone;
  for (const int32_t axis : axes) {
    const absl::StatusOr<int32_t> at = AxisOf("Squeeze", x, axis);
    if (!at.ok()) return Var::Failed(at.status());
    if (*at < x.shape().rank() && x.shape().dim(*at) == 1) gone.push_back(*at);
  }
  // Squeeze without axes would drop all of length 1.
  return gone.empty() ? Clone(x) : CallOp("Squeeze", {x}, {{"squeeze_dims", gone}});
}

Var BroadcastTo(const Var& x, absl::Span<const int64_t> shape) {
  return CallOp("BroadcastTo", {x, Vector64(x, shape)});
}

Var Transpose(const Var& x, absl::Span<const int32_t> permutation) {
  return CallOp("Transpose", {x, Vector32(x, permutation)});
}

Var SwapAxes(const Var& x, int32_t axis, int32_t other) {
  const absl::StatusOr<int32_t> a = AxisOf("Transpose", x, axis), b = AxisOf("Transpose", x, other);
  if (!a.ok() || !b.ok()) return Var::Failed(a.ok() ? b.status() : a.status());
  if (x.shape().rank() == 0) return Clone(x);
  std::vector<int32_t> permutation = AllAxes(x);
  std::swap(permutation[static_cast<size_t>(*a)], permutation[static_cast<size_t>(*b)]);
  return Transpose(x, permutation);
}

// --- Parts -----------------------------------------------------------------------------------------------------------

Var Slice(const Var& x, int32_t axis, int64_t begin, int64_t end, int64_t step) {
  return SliceAxis(x, axis, begin, end, step, /*shrinks=*/false);
}

Var Select(const Var& x, int32_t axis, int64_t index) {
  return SliceAxis(x, axis, index, index == -1 ? kToTheEnd : index + 1, 1, /*shrinks=*/true);
}

Var IndexSelect(const Var& x, int32_t axis, const Var& indices) {
  return CallOp("GatherV2", {x, indices, Scalar32(x, axis)});
}
Var IndexSelect(const Var& x, int32_t axis, absl::Span<const int64_t> indices) {
  return IndexSelect(x, axis, Vector64(x, indices));
}

Var Gather(const Var& x, int32_t axis, const Var& indices) {
  const absl::StatusOr<int32_t> at = AxisOf("Gather", x, axis);
  absl::Status status = at.ok() ? CheckDefined(indices) : at.status();
  if (status.ok()) status = CheckGather(x, *at, indices);
  if (!status.ok()) return Var::Failed(status);
  Var from = x;
  const int32_t last = x.shape().rank() - 1;
  for (int32_t d = 0; d <= last; ++d) {
    const int64_t size = indices.shape().dim(d);
    if (d != *at && size < x.shape().dim(d)) from = Slice(from, d, 0, size);
  }
  const auto gather = [&](const Var& values, const Var& places) {
    return CallOp("GatherV2", {values, places, Scalar32(x, last)}, {{"batch_dims", int64_t{last}}});
  };
  if (*at == last) return gather(from, indices);
  return SwapAxes(gather(SwapAxes(from, *at, last), SwapAxes(indices, *at, last)), *at, last);
}

// --- Joins and splits ------------------------------------------------------------------------------------------------

Var Concat(absl::Span<const Var> parts, int32_t axis) {
  if (parts.empty()) return NoParts("ConcatV2");
  std::vector<Var> inputs(parts.begin(), parts.end());
  inputs.push_back(Scalar32(parts[0], axis));
  return CallOp("ConcatV2", inputs, {{"N", static_cast<int64_t>(parts.size())}});
}

Var Stack(absl::Span<const Var> parts, int32_t axis) {
  if (parts.empty()) return NoParts("Pack");
  return CallOp("Pack", parts, {{"N", static_cast<int64_t>(parts.size())}, {"axis", int64_t{axis}}});
}

std::vector<Var> Split(const Var& x, int32_t axis, int32_t parts) {
  return CallOps("Split", {Scalar32(x, axis), x}, {{"num_split", parts}});
}

std::vector<Var> SplitSizes(const Var& x, int32_t axis, absl::Span<const int64_t> sizes) {
  return CallOps("SplitV", {x, Vector64(x, sizes), Scalar32(x, axis)},
                 {{"num_split", static_cast<int64_t>(sizes.size())}});
}

std::vector<Var> Unstack(const Var& x, int32_t axis) {
  const absl::StatusOr<int32_t> at = AxisOf("Unpack", x, axis);
  if (!at.ok()) return {Var::Failed(at.status())};
  const int64_t count = x.shape().rank() == 0 ? 1 : x.shape().dim(*at);
  return CallOps("Unpack", {x}, {{"num", count}, {"axis", int64_t{axis}}});
}

// --- Others ----------------------------------------------------------------------------------------------------------

Var Tile(const Var& x, absl::Span<const int64_t> repeats) { return CallOp("Tile", {x, Vector64(x, repeats)}); }

Var Pad(const Var& x, absl::Span<const std::pair<int64_t, int64_t>> padding, double value) {
  std::vector<int64_t> sizes;
  for (const auto& [before, behind] : padding) sizes.insert(sizes.end(), {before, behind});
  const Tensor paddings = Tensor::Of<int64_t>(Shape::Of({static_cast<int64_t>(padding.size()), 2}), sizes);
  return CallOp("PadV2", {x, ConstantLike(x, paddings), NumberLike(x, value)});
}

Var Flip(const Var& x, absl::Span<const int32_t> axes) { return CallOp("ReverseV2", {x, Vector32(x, axes)}); }

Var OneHot(const Var& indices, int64_t depth, DType type) {
  const absl::StatusOr<Tensor> on = FilledTensor(type, Shape(), 1), off = FilledTensor(type, Shape(), 0),
                               size = FilledTensor(DType::kInt32, Shape(), static_cast<double>(depth));
  for (const auto* const number : {&on, &off, &size}) {
    if (!number->ok()) return Var::Failed(number->status());
  }
  return CallOp("OneHot",
                {indices, ConstantLike(indices, *size), ConstantLike(indices, *on), ConstantLike(indices, *off)});
}

std::pair<Var, Var> TopK(const Var& x, int32_t k) {
  const std::vector<Var> found = CallOps("TopKV2", {x, Scalar32(x, k)});
  return {found[0], found[1]};
}

}  // namespace sluice

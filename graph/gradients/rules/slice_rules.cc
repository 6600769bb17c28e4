// Gradients of ops that cut pieces out of tensors, or put some in.

#include <optional>
#include <vector>

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

constexpr std::initializer_list<absl::string_view> kMasks = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                                             "shrink_axis_mask"};

// The zeros around the slice, as known before the run: {before, after} for each dimension.
std::optional<std::vector<int64_t>> KnownPaddings(const GradientContext& c) {
  const std::optional<std::vector<int64_t>> begin = c.ConstInts(1);
  const PartialShape whole = c.InputShape(0), slice = c.OutputShape(0);
  if (!begin.has_value() || !whole.IsFullyDefined() || !slice.IsFullyDefined()) return std::nullopt;
  std::vector<int64_t> paddings;
  for (int i = 0; i < whole.rank(); ++i) {
    const int64_t before = (*begin)[static_cast<size_t>(i)];
    paddings.push_back(before);
    paddings.push_back(whole.dim(i) - slice.dim(i) - before);
  }
  return paddings;
}

absl::Status SliceOf(GradientContext& c) {
  const Expr dy = c.dy();
  Expr paddings;
  if (const std::optional<std::vector<int64_t>> known = KnownPaddings(c); known.has_value()) {
    paddings = Reshape(c.Int32s(*known), c.Int32s({-1, 2}));
    if (known->empty()) paddings = Reshape(c.Int32s({}), c.Int32s({0, 2}));
  } else {
    const Expr begin = c.Input(1);
    const DType type = begin.type();
    paddings = Pack({begin, ShapeOf(c.Input(0), type) - ShapeOf(dy, type) - begin}, 1);
  }
  c.SetInput(0, Pad(dy, paddings));
  return absl::OkStatus();
}

absl::Status StridedSlice(GradientContext& c) {
  const Expr begin = c.Input(1);
  c.SetInput(0, AddOp("StridedSliceGrad", {ShapeOf(c.Input(0), begin.type()), begin, c.Input(2), c.Input(3), c.dy()},
                      c.CopyAttrs(kMasks)));
  return absl::OkStatus();
}

// The same slice of `whole` that the node, whose operands these are at inputs 1 to 3, has taken.
Expr SameSlice(GradientContext& c, const Expr& whole) {
  return AddOp("StridedSlice", {whole, c.Input(1), c.Input(2), c.Input(3)}, c.CopyAttrs(kMasks));
}

absl::Status StridedSliceGrad(GradientContext& c) {
  c.SetInput(4, SameSlice(c, c.dy()));
  return absl::OkStatus();
}

absl::Status TensorStridedSliceUpdate(GradientContext& c) {
  const Expr dy = c.dy(), slice = SameSlice(c, dy);
  if (c.Wants(0)) {
    c.SetInput(0, AddOp("TensorStridedSliceUpdate", {dy, c.Input(1), c.Input(2), c.Input(3), ZerosLike(slice)},
                        c.CopyAttrs(kMasks)));
  }
  if (c.Wants(4)) c.SetInput(4, c.SumToShapeOf(c.Input(4), slice, slice));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"Slice", &SliceOf},
    {"StridedSlice", &StridedSlice},
    {"StridedSliceGrad", &StridedSliceGrad},
    {"TensorStridedSliceUpdate", &TensorStridedSliceUpdate},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> SliceGradients() { return kRows; }

}  // namespace sluice

#include "graph/gradients/rules/shared_rules.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace sluice {

absl::Status PassOn(GradientContext& c) {
  c.SetInput(0, c.DyAsIs());
  return absl::OkStatus();
}

absl::Status PassAllOn(GradientContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.Wants(i)) continue;
    const bool is_handle = c.input_type(i) == DType::kResource || c.input_type(i) == DType::kVariant;
    if (c.HasDy(i) || is_handle) {
      c.SetInput(i, c.DyAsIs(i));
    } else {
      c.SetInput(i, c.dy(i));
    }
  }
  return absl::OkStatus();
}

absl::Status ReshapeToInput(GradientContext& c) {
  c.SetInput(0, ReshapeLike(c.dy(), c.Input(0)));
  return absl::OkStatus();
}

Expr Zero(const Expr& like) { return Number(like, 0); }
Expr Where(const Expr& condition, const Expr& value) { return Select(condition, value, Zero(value)); }
Expr Indicator(const Expr& condition, DType type) { return Cast(condition, type); }
Expr AsVector(const Expr& x) { return ExpandDims(x, 0); }
Expr Iota(const Expr& count) { return Range(Number(count, 0), count, Number(count, 1)); }
Expr LastDim(const Expr& shape) { return Element(shape, -1); }

Expr KeptShape(const Expr& shape, const Expr& axes) {
  const Expr rank = SizeOf(shape);
  const Expr places = FloorMod(Reshape(Cast(axes, DType::kInt32), Int32s(axes, {-1})) + rank, rank);
  // Later entries win, so the ones replace the sizes.
  return AddOp("DynamicStitch", {Iota(rank), places, shape, Fill(ShapeOf(places), Number(shape, 1))},
               {{"N", AttrValue(int64_t{2})}});
}

Expr WithKeptAxes(GradientContext& c, const Expr& value) {
  if (c.Bool("keep_dims") || c.OutputShape(0).rank() == 0) return value;
  const std::optional<std::vector<int64_t>> axes = c.ConstInts(1);
  const int rank = c.InputRank(0);
  if (axes.has_value() && axes->empty()) return value;
  if (axes.has_value() && axes->size() == 1) return ExpandDims(value, (*axes)[0]);
  if (axes.has_value() && rank > 0) {
    const PartialShape shape = c.InputShape(0);
    std::vector<int64_t> kept(shape.dims().begin(), shape.dims().end());
    for (const int64_t axis : *axes) {
      const int64_t place = axis < 0 ? axis + rank : axis;
      if (place >= 0 && place < rank) kept[static_cast<size_t>(place)] = 1;
    }
    // One dimension may be left to the reshape to find out, if none is empty.
    const bool is_known = std::count_if(kept.begin(), kept.end(), [](int64_t dim) { return dim < 0; }) == 0;
    const bool has_one_unknown = std::count_if(kept.begin(), kept.end(), [](int64_t dim) { return dim <= 0; }) == 1;
    if (is_known || has_one_unknown) return Reshape(value, c.Int32s(kept));
  }
  return Reshape(value, KeptShape(ShapeOf(c.Input(0)), c.Input(1)));
}

Expr AlignLeft(const Expr& x, const Expr& like) {
  const Expr shape = ShapeOf(x);
  const Expr ones = Fill(AsVector(RankOf(like) - RankOf(x)), Number(shape, 1));
  return Reshape(x, Concat({shape, ones}, 0));
}

Expr GatherDroppingNegatives(const Expr& params, const Expr& ids) {
  const Expr gathered = Gather(params, Maximum(ids, Zero(ids)));
  return Where(AlignLeft(GreaterEqual(ids, Zero(ids)), gathered), gathered);
}

}  // namespace sluice

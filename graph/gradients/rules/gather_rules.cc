// Gradients of ops that pick elements by indices, or put them there.

#include <optional>
#include <vector>

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

// For rows of input 0 picked by input 1: the gradient is sparse, with dy as its rows.
absl::Status PickedRows(GradientContext& c) {
  const Expr indices = c.Input(1), dense_shape = ShapeOf(c.Input(0));
  if (c.InputRank(1) == 1) {
    c.SetSlices(0, c.dy(), indices, dense_shape);
    return absl::OkStatus();
  }
  const Expr count = AsVector(SizeOf(indices));
  const Expr values = Reshape(c.dy(), Concat({count, SliceFrom(dense_shape, 1)}, 0));
  c.SetSlices(0, values, Reshape(indices, count), dense_shape);
  return absl::OkStatus();
}

// View both as [batch, outer, gathered, inner]; each row (batch, index) of dy is added to row (batch, indices[batch,
// index]) of the gradient.
absl::Status GatherAlongAxis(GradientContext& c) {
  const Expr shape = ShapeOf(c.Input(0), DType::kInt64), index_shape = ShapeOf(c.Input(1), DType::kInt64);
  const Expr one = c.Int64s({1}), to_end = c.Int64s({-1}), all = c.Int32(0);
  const Expr axis = FloorMod(Cast(c.Input(2), DType::kInt64), SizeOf(shape, DType::kInt64)) * one;
  const int64_t batch_dims = c.Int("batch_dims");
  const Expr num_batch_dims =
      batch_dims >= 0 ? c.Int64s({batch_dims}) : SizeOf(index_shape, DType::kInt64) + c.Int64s({batch_dims});

  const auto product = [&](const Expr& of, const Expr& begin, const Expr& size) {
    return AsVector(Prod(Slice(of, begin, size), all));
  };
  const Expr batch = product(shape, c.Int64s({0}), num_batch_dims);
  const Expr outer = product(shape, num_batch_dims, axis - num_batch_dims);
  const Expr gathered = Slice(shape, axis, one);
  const Expr inner = product(shape, axis + one, to_end);
  const Expr picked = product(index_shape, num_batch_dims, to_end);

  const Expr by_batch = Transpose(Reshape(c.dy(), Concat({batch, outer, picked, inner}, 0)), {0, 2, 1, 3});
  const Expr rows = Reshape(by_batch, Concat({batch * picked, outer * inner}, 0));
  const Expr first_rows = ExpandDims(Iota(Reshape(batch, c.Int32s({}))) * gathered, 1);
  const Expr ids = Reshape(Cast(c.Input(1), DType::kInt64), Concat({batch, picked}, 0)) + first_rows;
  const Expr sums = UnsortedSegmentSum(rows, Reshape(ids, batch * picked), Reshape(batch * gathered, c.Int32s({})));
  const Expr by_outer = Transpose(Reshape(sums, Concat({batch, gathered, outer, inner}, 0)), {0, 2, 1, 3});
  c.SetInput(0, Reshape(by_outer, shape));
  return absl::OkStatus();
}

absl::Status GatherV2(GradientContext& c) {
  const std::optional<std::vector<int64_t>> axis = c.ConstInts(2);
  const bool is_first = axis.has_value() && axis->size() == 1 && (*axis)[0] == 0;
  return is_first ? PickedRows(c) : GatherAlongAxis(c);
}

absl::Status GatherNdOf(GradientContext& c) {
  const Expr indices = c.Input(1);
  const PartialShape index_shape = c.InputShape(1);
  if (index_shape.rank() == 2 && index_shape.dim(1) == 1) {
    c.SetSlices(0, c.dy(), Squeeze(indices, {-1}), ShapeOf(c.Input(0), indices.type()));
  } else {
    c.SetInput(0, AddOp("ScatterNd", {indices, c.dy(), ShapeOf(c.Input(0), indices.type())},
                        c.CopyAttrs({"bad_indices_policy"})));
  }
  return absl::OkStatus();
}

absl::Status ScatterNdOf(GradientContext& c) {
  c.SetInput(1, GatherNd(c.dy(), c.Input(0)));
  return absl::OkStatus();
}

// sign: of the updates.
template <int sign>
absl::Status ScatterAdd(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, c.DyAsIs());
  if (c.Wants(2)) {
    const Expr picked = GatherNd(c.dy(), c.Input(1));
    c.SetInput(2, sign > 0 ? picked : -picked);
  }
  return absl::OkStatus();
}

absl::Status ScatterUpdate(GradientContext& c) {
  const Expr dy = c.dy(), indices = c.Input(1), picked = GatherNd(dy, indices);
  if (c.Wants(0)) c.SetInput(0, AddOp("TensorScatterUpdate", {dy, indices, ZerosLike(picked)}));
  if (c.Wants(2)) c.SetInput(2, picked);
  return absl::OkStatus();
}

// Of TensorScatterMax and Min: all that are equal to the result share.
absl::Status ScatterExtreme(GradientContext& c) {
  const Expr x = c.Input(0), indices = c.Input(1), y = c.Output(), dy = c.dy();
  const Expr from_x = Indicator(Equal(x, y), dy.type());
  const Expr from_update = Indicator(Equal(c.Input(2), GatherNd(y, indices)), dy.type());
  const Expr share = dy / (from_x + ScatterNd(indices, from_update, ShapeOf(x, indices.type())));
  if (c.Wants(0)) c.SetInput(0, share * from_x);
  if (c.Wants(2)) c.SetInput(2, GatherNd(share, indices) * from_update);
  return absl::OkStatus();
}

// Each row of dy belongs to the place that its number among all rows has after the same partition.
absl::Status DynamicPartition(GradientContext& c) {
  const Expr partitions = c.Input(1);
  const Expr numbers = Reshape(Iota(SizeOf(partitions)), ShapeOf(partitions));
  const Expr places = AddOp("DynamicPartition", {numbers, partitions}, c.CopyAttrs({"num_partitions"}));
  Exprs inputs;
  for (int i = 0; i < c.num_outputs(); ++i) inputs.push_back(places.out(i));
  for (int i = 0; i < c.num_outputs(); ++i) inputs.push_back(c.dy(i));
  c.SetInput(
      0, ReshapeLike(AddOp("ParallelDynamicStitch", inputs, {{"N", AttrValue(int64_t{c.num_outputs()})}}), c.Input(0)));
  return absl::OkStatus();
}

// A row that a later one overwrote has the gradient of that one, as in TensorFlow.
absl::Status DynamicStitch(GradientContext& c) {
  const int count = c.num_inputs() / 2;
  for (int i = 0; i < count; ++i) {
    if (c.Wants(count + i)) c.SetInput(count + i, Gather(c.dy(), c.Input(i)));
  }
  return absl::OkStatus();
}

absl::Status TopK(GradientContext& c) {
  const Expr shape = ShapeOf(c.Input(0), DType::kInt64), flat = c.Int32s({-1});
  const Expr indices = Cast(c.Output(1), DType::kInt64), index_shape = ShapeOf(indices, DType::kInt64);
  const Expr num_rows = Prod(SliceRange(shape, 0, -1), c.Int32(0));
  const Expr first = ExpandDims(Iota(num_rows) * LastDim(shape), 1);
  const Expr in_row = Reshape(indices, Pack({num_rows, LastDim(index_shape)}));
  const Expr places = ExpandDims(Reshape(in_row + first, flat), 1);
  c.SetInput(0, Reshape(ScatterNd(places, Reshape(c.dy(), flat), AsVector(Prod(shape, c.Int32(0)))), shape));
  return absl::OkStatus();
}

// Elements that are equal to the one picked share.
absl::Status NthElement(GradientContext& c) {
  const Expr is_picked = Indicator(Equal(ExpandDims(c.Output(), -1), c.Input(0)), c.input_type(0));
  c.SetInput(0, is_picked / Sum(is_picked, {-1}, true) * ExpandDims(c.dy(), -1));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"DynamicPartition", &DynamicPartition},
    {"DynamicStitch", &DynamicStitch},
    {"Gather", &PickedRows},
    {"GatherNd", &GatherNdOf},
    {"GatherV2", &GatherV2},
    {"NthElement", &NthElement},
    {"ParallelDynamicStitch", &DynamicStitch},
    {"ScatterNd", &ScatterNdOf},
    {"ScatterNdNonAliasingAdd", &ScatterAdd<1>},
    {"TensorScatterAdd", &ScatterAdd<1>},
    {"TensorScatterMax", &ScatterExtreme},
    {"TensorScatterMin", &ScatterExtreme},
    {"TensorScatterSub", &ScatterAdd<-1>},
    {"TensorScatterUpdate", &ScatterUpdate},
    {"TopK", &TopK},
    {"TopKV2", &TopK},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> GatherGradients() { return kRows; }

}  // namespace sluice

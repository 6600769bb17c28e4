// Gradients of ops on sparse tensors (indices, values, shape) and ragged ones (splits, values): only the values, and
// dense operands, have some.

#include <algorithm>
#include <optional>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

Expr Column(const Expr& indices, int64_t i) { return Gather(indices, Int32(indices, i), 1); }

// (a's indices, values, shape, b's, threshold)
absl::Status SparseAdd(GradientContext& c) {
  if (!c.HasDy(1)) return absl::OkStatus();
  const Expr grads = AddOp("SparseAddGrad", {c.dy(1), c.Input(0), c.Input(3), c.Output(0)});
  if (c.Wants(1)) c.SetInput(1, grads);
  if (c.Wants(4)) c.SetInput(4, grads.out(1));
  return absl::OkStatus();
}

// Reorder the values' numbers to find where each goes.
absl::Status SparseReorder(GradientContext& c) {
  if (!c.HasDy(1)) return absl::OkStatus();
  const Expr indices = c.Input(0);
  const Expr numbers = Iota(Element(ShapeOf(indices), 0));
  const Expr order = AddOp("SparseReorder", {indices, numbers, c.Input(2)}).out(1);
  c.SetInput(1, Gather(c.dy(1), InvertPermutation(order)));
  return absl::OkStatus();
}

absl::Status SparseTensorDenseAdd(GradientContext& c) {
  if (c.Wants(1)) c.SetInput(1, GatherNd(c.dy(), c.Input(0)));
  if (c.Wants(3)) c.SetInput(3, c.dy());
  return absl::OkStatus();
}

// Each value has the gradient of the sum it went into.
absl::Status SparseReduceSum(GradientContext& c) {
  const Expr shape = c.Input(2), kept = KeptShape(shape, c.Input(3));
  // Along axes that are summed all indices become 0.
  const Expr places = FloorDiv(c.Input(0), FloorDiv(shape, Maximum(kept, Number(kept, 1))));
  c.SetInput(1, GatherNd(Reshape(c.dy(), kept), places));
  return absl::OkStatus();
}

absl::Status SparseSlice(GradientContext& c) {
  if (!c.HasDy(1)) return absl::OkStatus();
  c.SetInput(1, AddOp("SparseSliceGrad", {c.dy(1), c.Input(0), c.Input(3), c.Output(0)}));
  return absl::OkStatus();
}

// Y = op(A) op(B), A sparse: dB as for dense ones; of dA only the elements that A has, each of them a product of rows.
absl::Status SparseTensorDenseMatMul(GradientContext& c) {
  const bool adjoint_a = c.Bool("adjoint_a"), adjoint_b = c.Bool("adjoint_b");
  const Expr indices = c.Input(0), dy = c.dy(), b = c.Input(3);
  if (c.Wants(3)) {
    const Expr db =
        AddOp("SparseTensorDenseMatMul", {indices, c.Input(1), c.Input(2), dy}, {{"adjoint_a", AttrValue(!adjoint_a)}});
    c.SetInput(3, adjoint_b ? Adjoint(db) : db);
  }
  if (c.Wants(1)) {
    const Expr rows = Column(indices, adjoint_a ? 1 : 0), columns = Column(indices, adjoint_a ? 0 : 1);
    const Expr of_dy = Gather(dy, rows), of_b = Gather(adjoint_b ? Adjoint(b) : b, columns);
    // (dy b')[row, column], or for the adjoint of A its conjugate.
    const Expr terms = adjoint_a ? Conj(of_dy) * of_b : of_dy * Conj(of_b);
    c.SetInput(1, Sum(terms, {-1}));
  }
  return absl::OkStatus();
}

// Of an op on a sparse tensor and a dense one that broadcasts to its shape: the element of the latter for each value,
// and the other way round the sum, in the shape of the dense one, of what each value gives.
struct DenseElements {
  explicit DenseElements(GradientContext& c) : dense(c.Input(3)) {
    const Expr shape = c.Input(2), dense_shape = ShapeOf(dense, DType::kInt64);
    const Expr num_more = AsVector(SizeOf(shape) - SizeOf(dense_shape));
    const Expr wide = Concat({Fill(num_more, c.Int64(1)), dense_shape}, 0);
    const Expr places = FloorDiv(c.Input(0), FloorDiv(shape, Maximum(wide, c.Int64(1))));
    indices = Slice(places, Concat({c.Int32s({0}), num_more}, 0), c.Int32s({-1, -1}));
    values = GatherNd(dense, indices);
  }
  Expr Collect(const Expr& of_values) const { return ScatterNd(indices, of_values, ShapeOf(dense, DType::kInt64)); }

  const Expr dense;
  Expr indices, values;
};

absl::Status SparseDenseCwiseAdd(GradientContext& c) {
  if (c.Wants(1)) c.SetInput(1, c.DyAsIs());
  if (c.Wants(3)) c.SetInput(3, DenseElements(c).Collect(c.dy()));
  return absl::OkStatus();
}

absl::Status SparseDenseCwiseMul(GradientContext& c) {
  const DenseElements y(c);
  const Expr dy = c.dy();
  if (c.Wants(1)) c.SetInput(1, dy * Conj(y.values));
  if (c.Wants(3)) c.SetInput(3, y.Collect(dy * Conj(c.Input(1))));
  return absl::OkStatus();
}

absl::Status SparseDenseCwiseDiv(GradientContext& c) {
  const DenseElements y(c);
  const Expr dy = c.dy(), divisor = Conj(y.values);
  if (c.Wants(1)) c.SetInput(1, dy / divisor);
  if (c.Wants(3)) c.SetInput(3, y.Collect(dy * (-Conj(c.Input(1)) / Square(divisor))));
  return absl::OkStatus();
}

// As for a dense Softmax; the sums along the last dimension are those of the values there.
absl::Status SparseSoftmax(GradientContext& c) {
  const Expr indices = c.Input(0), shape = c.Input(2), y = c.Output(), dy = c.dy();
  const Expr sums =
      AddOp("SparseReduceSum", {indices, dy * y, shape, c.Int32s({-1})}, {{"keep_dims", AttrValue(true)}});
  const Expr own = AddOp("SparseDenseCwiseAdd", {indices, dy, shape, -sums});
  c.SetInput(1, own * y);
  return absl::OkStatus();
}

absl::Status SparseFillEmptyRows(GradientContext& c) {
  if (!c.HasDy(1)) return absl::OkStatus();
  const Expr grads = AddOp("SparseFillEmptyRowsGrad", {c.Output(3), c.dy(1)});
  if (c.Wants(1)) c.SetInput(1, grads);
  if (c.Wants(3)) c.SetInput(3, grads.out(1));
  return absl::OkStatus();
}

// (map, gradients) -> gradients of the values, at the places in the map, and the sum of the others.
absl::Status SparseFillEmptyRowsGrad(GradientContext& c) {
  const Expr map = ExpandDims(c.Input(0), 1);
  c.SetInput(1, AddOp("TensorScatterUpdate", {Fill(ShapeOf(c.Input(1)), c.dy(1)), map, c.dy(0)}));
  return absl::OkStatus();
}

// (indices, shape, values, default). Indices of a vector need not be a matrix, and one value may stand for all.
absl::Status SparseToDense(GradientContext& c) {
  const Expr rank = SizeOf(c.Input(1)), dy = c.dy();
  const Expr of_values = GatherNd(dy, Reshape(c.Input(0), Pack({c.Int32(-1), rank})));
  if (c.Wants(2)) c.SetInput(2, c.SumToShapeOf(c.Input(2), of_values, of_values));
  if (c.Wants(3)) c.SetInput(3, SumAll(dy) - SumAll(of_values));
  return absl::OkStatus();
}

// --- Ragged ----------------------------------------------------------------------------------------------------------

// (rows, values, number of rows, default).
absl::Status RaggedFillEmptyRows(GradientContext& c) {
  if (!c.HasDy(1)) return absl::OkStatus();
  const Expr grads = AddOp("RaggedFillEmptyRowsGrad", {c.Output(3), c.dy(1)});
  if (c.Wants(1)) c.SetInput(1, grads);
  if (c.Wants(3)) c.SetInput(3, grads.out(1));
  return absl::OkStatus();
}

// (splits..., values, indices) -> (splits..., values). Where the values of a row of params begin and end follows from
// the splits of all levels.
absl::Status RaggedGather(GradientContext& c) {
  const int values = c.num_inputs() - 2, of_values = c.num_outputs() - 1;
  if (!c.HasDy(of_values)) return absl::OkStatus();
  Expr splits = c.Input(0);
  for (int i = 1; i < values; ++i) splits = Gather(c.Input(i), splits);
  const Expr indices = Reshape(c.Input(values + 1), c.Int32s({-1}));
  const Expr begin = Gather(splits, indices), end = Gather(SliceFrom(splits, 1), indices);
  const Expr rows = AddOp("RaggedRange", {begin, end, Number(begin, 1)}).out(1);
  c.SetSlices(values, c.dy(of_values), rows, ShapeOf(c.Input(values)));
  return absl::OkStatus();
}

// (splits..., values) -> (indices, values, shape).
absl::Status RaggedTensorToSparse(GradientContext& c) {
  const int values = c.num_inputs() - 1;
  if (c.HasDy(1)) c.SetInput(values, Reshape(c.dy(1), ShapeOf(c.Input(values))));
  return absl::OkStatus();
}

// (shape, values, default, partitions...). Run the op on the values' numbers, with -1 for the default, to find where
// each went.
absl::Status RaggedTensorToTensor(GradientContext& c) {
  const absl::StatusOr<AttrView> types = c.graph().GetAttr(c.node(), "row_partition_types");
  if (!types.ok()) return types.status();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> kinds, types->AsStringList());
  const int64_t ragged_rank =
      std::count_if(kinds.begin(), kinds.end(), [](absl::string_view kind) { return kind != "FIRST_DIM_SIZE"; });
  const Expr dy = c.dy(), values = c.Input(1), otherwise = c.Input(2);
  Exprs made_of = {SliceRange(ShapeOf(dy), 0, 1 + ragged_rank), Iota(Element(ShapeOf(values), 0)), c.Int32(-1)};
  for (int i = 3; i < c.num_inputs(); ++i) made_of.push_back(c.Input(i));
  const Expr numbers = AddOp("RaggedTensorToTensor", made_of,
                             c.CopyAttrs({"row_partition_types", "num_row_partition_tensors", "Tindex"}));
  const Expr is_value = NotEqual(numbers, c.Int32(-1));
  if (c.Wants(1)) {
    const Expr at = AddOp("Where", {is_value});
    c.SetSlices(1, GatherNd(dy, at), GatherNd(numbers, at), ShapeOf(values));
  }
  if (c.Wants(2)) {
    // The default broadcasts to what one value is; a single element may have any rank.
    const Expr sum = Sum(GatherNd(dy, AddOp("Where", {Not(is_value)})), {0});
    const Expr ones = Fill(AsVector(RankOf(otherwise)), c.Int32(1));
    const Expr aligned = Reshape(sum, Concat({ones, ShapeOf(sum)}, 0));
    c.SetInput(2, c.SumToShapeOf(otherwise, aligned, aligned));
  }
  return absl::OkStatus();
}

// (splits..., values) -> a variant, or one for each row.
absl::Status RaggedTensorToVariant(GradientContext& c) {
  const int values = c.num_inputs() - 1;
  const Expr splits = values > 0 ? c.Input(0) : c.Int64(0);
  c.SetInput(values, AddOp("RaggedTensorToVariantGradient", {c.dy(), splits, ShapeOf(c.Input(values))},
                           {{"Tvalues", c.input_type(values)}}));
  return absl::OkStatus();
}

// (variants) -> (splits..., values). As in TensorFlow, of no more than a vector of variants.
absl::Status RaggedTensorFromVariant(GradientContext& c) {
  const int values = c.num_outputs() - 1, rank = c.InputRank(0);
  if (!c.HasDy(values)) return absl::OkStatus();
  if (rank > 1) return c.Refuse("it is computed for a scalar or a vector of variants only");
  Exprs parts;
  for (int i = 0; i < values; ++i) parts.push_back(c.Output(i));
  parts.push_back(c.dy(values));
  EmitAttrs attrs = c.CopyAttrs({"Tsplits"});
  attrs.push_back({"RAGGED_RANK", static_cast<int64_t>(values)});
  attrs.push_back({"batched_input", rank == 1 || (rank < 0 && values > 0)});
  c.SetInput(0, AddOp("RaggedTensorToVariant", parts, attrs));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"RaggedFillEmptyRows", &RaggedFillEmptyRows},
    {"RaggedFillEmptyRowsGrad", &SparseFillEmptyRowsGrad},
    {"RaggedGather", &RaggedGather},
    {"RaggedTensorFromVariant", &RaggedTensorFromVariant},
    {"RaggedTensorToSparse", &RaggedTensorToSparse},
    {"RaggedTensorToTensor", &RaggedTensorToTensor},
    {"RaggedTensorToVariant", &RaggedTensorToVariant},
    {"SparseAdd", &SparseAdd},
    {"SparseDenseCwiseAdd", &SparseDenseCwiseAdd},
    {"SparseDenseCwiseDiv", &SparseDenseCwiseDiv},
    {"SparseDenseCwiseMul", &SparseDenseCwiseMul},
    {"SparseFillEmptyRows", &SparseFillEmptyRows},
    {"SparseFillEmptyRowsGrad", &SparseFillEmptyRowsGrad},
    {"SparseReduceSum", &SparseReduceSum},
    {"SparseReorder", &SparseReorder},
    {"SparseSlice", &SparseSlice},
    {"SparseSoftmax", &SparseSoftmax},
    {"SparseTensorDenseAdd", &SparseTensorDenseAdd},
    {"SparseTensorDenseMatMul", &SparseTensorDenseMatMul},
    {"SparseToDense", &SparseToDense},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> SparseGradients() { return kRows; }

}  // namespace sluice

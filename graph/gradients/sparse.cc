// Gradients of ops on sparse tensors (indices, values, shape): only the values, and dense operands, have some.

#include <optional>
#include <vector>

#include "graph/gradients/families.h"
#include "graph/gradients/gradient_rules.h"

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

// Numbers in the place of values say where each one goes.
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

// (map, gradients) -> gradients of the values, which stand where the map says, and the sum of the others.
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

constexpr GradientRow kRows[] = {
    {"SparseAdd", &SparseAdd},
    {"SparseAddGrad", kNoGradient},
    {"SparseConcat", kNoGradient},
    {"SparseDenseCwiseAdd", &SparseDenseCwiseAdd},
    {"SparseDenseCwiseDiv", &SparseDenseCwiseDiv},
    {"SparseDenseCwiseMul", &SparseDenseCwiseMul},
    {"SparseFillEmptyRows", &SparseFillEmptyRows},
    {"SparseFillEmptyRowsGrad", &SparseFillEmptyRowsGrad},
    {"SparseReduceMax", kRefusedGradient},
    {"SparseReduceMaxSparse", kRefusedGradient},
    {"SparseReduceSum", &SparseReduceSum},
    {"SparseReduceSumSparse", kRefusedGradient},
    {"SparseReorder", &SparseReorder},
    {"SparseReshape", kNoGradient},
    {"SparseSlice", &SparseSlice},
    {"SparseSliceGrad", kRefusedGradient},
    {"SparseSoftmax", &SparseSoftmax},
    {"SparseSparseMaximum", kRefusedGradient},
    {"SparseSparseMinimum", kRefusedGradient},
    {"SparseSplit", kRefusedGradient},
    {"SparseTensorDenseAdd", &SparseTensorDenseAdd},
    {"SparseTensorDenseMatMul", &SparseTensorDenseMatMul},
    {"SparseToDense", &SparseToDense},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> SparseGradients() { return kRows; }

}  // namespace sluice

// Gradients of decompositions of matrices (Giles 2008; Ionescu et al. 2015).

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

Expr Diagonal(const Expr& x) { return AddOp("MatrixDiag", {x}); }
Expr DiagonalPart(const Expr& x) { return AddOp("MatrixDiagPart", {x}); }
Expr WithDiagonal(const Expr& x, const Expr& diagonal) { return AddOp("MatrixSetDiag", {x, diagonal}); }
Expr Lower(const Expr& x) { return AddOp("MatrixBandPart", {x, Int64(x, -1), Int64(x, 0)}); }
// 1/x, and 0 where x is.
Expr SafeReciprocal(const Expr& x) { return x * Reciprocal(Square(x) + 1e-20); }
// 1 / (x_j - x_i) at [i, j], zero on the diagonal.
Expr Differences(const Expr& x) {
  return WithDiagonal(SafeReciprocal(ExpandDims(x, -2) - ExpandDims(x, -1)), ZerosLike(x));
}

// The gradient of a symmetric operand, made symmetric.
absl::Status Cholesky(GradientContext& c) {
  const Expr l = c.Output();
  const Expr middle = BatchMatMul(l, c.dy(), true, false);
  const Expr halved = Lower(WithDiagonal(middle, 0.5 * DiagonalPart(middle)));
  // L^-T halved L^-1, by two solutions.
  const EmitAttrs upper = {{"lower", AttrValue(true)}, {"adjoint", AttrValue(true)}};
  const Expr left = AddOp("MatrixTriangularSolve", {l, halved}, upper);
  const Expr both = Adjoint(AddOp("MatrixTriangularSolve", {l, Adjoint(left)}, upper));
  c.SetInput(0, 0.5 * (both + Adjoint(both)));
  return absl::OkStatus();
}

// Only the lower triangle of the operand is looked at.
absl::Status SelfAdjointEig(GradientContext& c) {
  const bool has_vectors = c.Bool("compute_v");
  const Expr v = has_vectors ? c.Output(1) : AddOp("SelfAdjointEigV2", {c.Input(0)}).out(1);
  Expr middle = Diagonal(Cast(c.dy(0), v.type()));
  if (has_vectors) {
    middle = middle + Differences(c.Output(0)) * BatchMatMul(v, c.dy(1), true, false);
  }
  const Expr full = BatchMatMul(v, BatchMatMul(middle, v, false, true));
  const Expr lower = Lower(full + Adjoint(full));
  c.SetInput(0, WithDiagonal(lower, 0.5 * DiagonalPart(lower)));
  return absl::OkStatus();
}

// The sizes of the last two dimensions, -1 where unknown.
struct MatrixSize {
  explicit MatrixSize(const PartialShape& shape) {
    if (!shape.has_rank() || shape.rank() < 2) return;
    rows = shape.dim(shape.rank() - 2);
    columns = shape.dim(shape.rank() - 1);
  }
  int64_t rows = -1, columns = -1;
};

// x R^-T, R being upper triangular.
Expr DivideByAdjoint(const Expr& x, const Expr& r) {
  return Adjoint(AddOp("MatrixTriangularSolve", {r, Adjoint(x)}, {{"lower", AttrValue(false)}}));
}

// Of matrices that are not wide.
Expr TallQr(const Expr& q, const Expr& r, const Expr& dq, const Expr& dr) {
  const Expr qdq = BatchMatMul(q, dq, true, false), rdr = BatchMatMul(r, dr, false, true);
  const Expr low = Lower(qdq - Adjoint(qdq) + rdr - Adjoint(rdr));
  const Expr dx = BatchMatMul(q, dr + DivideByAdjoint(low, r)) + DivideByAdjoint(dq - BatchMatMul(q, qdq), r);
  if (!q.is_complex()) return dx;
  const Expr phases = DiagonalPart(rdr - Adjoint(qdq));
  const Expr correction = Diagonal(phases - Cast(Real(phases), q.type()));
  return dx + DivideByAdjoint(BatchMatMul(q, Adjoint(correction)), r);
}

// The first `count` columns, or those behind them.
Expr Columns(const Expr& x, int64_t count, bool behind) {
  return AddOp("StridedSlice",
               {x, Int32s(x, {0, behind ? count : 0}), Int32s(x, {0, behind ? 0 : count}), Int32s(x, {1, 1})},
               {{"ellipsis_mask", AttrValue(int64_t{1})}, {"end_mask", AttrValue(int64_t{behind ? 2 : 0})}});
}

absl::Status Qr(GradientContext& c) {
  const MatrixSize a(c.InputShape(0));
  if (a.rows < 0 || a.columns < 0) return c.Refuse("the size of its matrix is not known before the run");
  const Expr q = c.Output(0), r = c.Output(1), dq = c.dy(0), dr = c.dy(1);
  if (a.rows > a.columns && c.Bool("full_matrices")) {
    return c.Refuse("full matrices of one with more rows than columns are not determined");
  }
  if (a.rows >= a.columns) {
    c.SetInput(0, TallQr(q, r, dq, dr));
    return absl::OkStatus();
  }
  // [X Y] = Q [U V] with X square: V = Q' Y.
  const Expr y = Columns(c.Input(0), a.rows, true), dv = Columns(dr, a.rows, true);
  const Expr dx =
      TallQr(q, Columns(r, a.rows, false), dq + BatchMatMul(y, dv, false, true), Columns(dr, a.rows, false));
  c.SetInput(0, Concat({dx, BatchMatMul(q, dv)}, -1));
  return absl::OkStatus();
}

// Of matrices with at least as many columns as rows: A = U S V'. `v1` are the columns of V that S has values for.
Expr WideSvd(const Expr& s, const Expr& u, const Expr& v, const Exprs& d, int64_t rows, int64_t columns, bool is_full) {
  const Expr f = Differences(Square(s)), sizes = Diagonal(s);
  const bool is_cut = is_full && columns > rows;
  const Expr v1 = is_cut ? Columns(v, rows, false) : v, dv1 = is_cut ? Columns(d[2], rows, false) : d[2];
  const Expr of_v = BatchMatMul(v1, dv1, true, false);
  const Expr f_u = f * BatchMatMul(u, d[1], true, false), f_v = f * of_v;
  Expr middle = Diagonal(d[0]) + BatchMatMul(f_u + Adjoint(f_u), sizes) + BatchMatMul(sizes, f_v + Adjoint(f_v));
  const Expr inverse = Diagonal(SafeReciprocal(s));
  if (u.is_complex()) {
    const Expr phases = Diagonal(DiagonalPart(of_v));
    middle = middle + 0.5 * BatchMatMul(inverse, Adjoint(phases) - phases);
  }
  const Expr dx = BatchMatMul(u, BatchMatMul(middle, v1, false, true));
  if (rows == columns) return dx;
  const Expr dv1_adjoint = Adjoint(dv1);
  Expr outside = dv1_adjoint - BatchMatMul(BatchMatMul(dv1_adjoint, v1), v1, false, true);
  if (is_full) {
    const Expr v2 = Columns(v, rows, true), dv2 = Columns(d[2], rows, true);
    outside = outside - BatchMatMul(BatchMatMul(v1, dv2, true, false), v2, false, true);
  }
  return dx + BatchMatMul(BatchMatMul(u, inverse), outside);
}

absl::Status Svd(GradientContext& c) {
  const DType type = c.input_type(0);
  const Expr ds = Cast(c.dy(0), type);
  if (!c.Bool("compute_uv")) {
    const Expr all = AddOp("Svd", {c.Input(0)});
    c.SetInput(0, BatchMatMul(all.out(1), BatchMatMul(Diagonal(ds), all.out(2), false, true)));
    return absl::OkStatus();
  }
  const MatrixSize a(c.InputShape(0));
  if (a.rows < 0 || a.columns < 0) return c.Refuse("the size of its matrix is not known before the run");
  const bool is_full = c.Bool("full_matrices"), is_tall = a.rows > a.columns;
  const int64_t small = is_tall ? a.columns : a.rows, large = is_tall ? a.rows : a.columns;
  if (is_full && large - small > 1) return c.Refuse("full matrices are not determined but for one column or row");
  const Expr s = Cast(c.Output(0), type);
  // A tall matrix is the adjoint of a wide one.
  const Expr dx = is_tall ? WideSvd(s, c.Output(2), c.Output(1), {ds, c.dy(2), c.dy(1)}, small, large, is_full)
                          : WideSvd(s, c.Output(1), c.Output(2), {ds, c.dy(1), c.dy(2)}, small, large, is_full);
  c.SetInput(0, is_tall ? Adjoint(dx) : dx);
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"Cholesky", &Cholesky},
    {"Qr", &Qr},
    {"SelfAdjointEigV2", &SelfAdjointEig},
    {"Svd", &Svd},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> DecompositionGradients() { return kRows; }

}  // namespace sluice

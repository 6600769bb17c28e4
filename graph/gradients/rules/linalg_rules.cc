// Gradients of inverses, determinants and solutions of systems (Giles 2008).

#include <initializer_list>

#include "absl/strings/string_view.h"
#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

EmitAttrs Adjoint(bool adjoint) { return {{"adjoint", AttrValue(adjoint)}}; }

// `x`, one number for each matrix, so that it broadcasts with these.
Expr PerMatrix(const Expr& x) { return ExpandDims(ExpandDims(x, -1), -1); }

// Y = A^-1: dA = -Y' dY Y'
absl::Status MatrixInverse(GradientContext& c) {
  const Expr y = c.Output();
  const bool adjoint = c.Bool("adjoint");
  c.SetInput(0, -BatchMatMul(y, BatchMatMul(c.dy(), y, adjoint, !adjoint), !adjoint, false));
  return absl::OkStatus();
}

absl::Status MatrixDeterminant(GradientContext& c) {
  const Expr inverse = AddOp("MatrixInverse", {c.Input(0)}, Adjoint(true));
  c.SetInput(0, PerMatrix(c.dy() * Conj(c.Output())) * inverse);
  return absl::OkStatus();
}

// Outputs (sign, logarithm of the absolute value): the sign has no derivative.
absl::Status LogMatrixDeterminant(GradientContext& c) {
  const Expr inverse = AddOp("MatrixInverse", {c.Input(0)}, Adjoint(true));
  c.SetInput(0, PerMatrix(c.dy(1)) * inverse);
  return absl::OkStatus();
}

// op(A) X = B: dB solves the adjoint system, dA = -dB X' (turned with A). `solve` gives dB, `restrict` cuts dA to the
// elements of A that are looked at.
template <typename Solve, typename Restrict>
absl::Status Solution(GradientContext& c, bool broadcasts, const Solve& solve, const Restrict& restrict) {
  const bool adjoint = c.Bool("adjoint");
  const Expr x = c.Output(), db = solve(c.dy(), !adjoint);
  const auto set = [&](int i, const Expr& dx) { c.SetInput(i, broadcasts ? c.SumToShapeOf(c.Input(i), dx, dx) : dx); };
  if (c.Wants(0)) set(0, restrict(adjoint ? -BatchMatMul(x, db, false, true) : -BatchMatMul(db, x, false, true)));
  if (c.Wants(1)) set(1, db);
  return absl::OkStatus();
}

absl::Status MatrixSolve(GradientContext& c) {
  const auto solve = [&](const Expr& b, bool adjoint) {
    return AddOp("MatrixSolve", {c.Input(0), b}, Adjoint(adjoint));
  };
  return Solution(c, false, solve, [](const Expr& da) { return da; });
}

// Of the operand that `op` solves with, only the lower or only the upper part.
Expr SolveTriangle(GradientContext& c, absl::string_view op, const Expr& b, bool adjoint) {
  EmitAttrs attrs = c.CopyAttrs({"lower"});
  attrs.push_back({"adjoint", AttrValue(adjoint)});
  return AddOp(op, {c.Input(0), b}, attrs);
}

absl::Status MatrixTriangularSolve(GradientContext& c) {
  const auto solve = [&](const Expr& b, bool adjoint) { return SolveTriangle(c, "MatrixTriangularSolve", b, adjoint); };
  const auto triangle = [&](const Expr& da) {
    const Expr all = c.Int64(-1), none = c.Int64(0);
    return c.Bool("lower") ? AddOp("MatrixBandPart", {da, all, none}) : AddOp("MatrixBandPart", {da, none, all});
  };
  return Solution(c, true, solve, triangle);
}

// The operand has the diagonals as rows.
absl::Status BandedTriangularSolve(GradientContext& c) {
  const auto solve = [&](const Expr& b, bool adjoint) { return SolveTriangle(c, "BandedTriangularSolve", b, adjoint); };
  const auto bands = [&](const Expr& da) {
    const Expr last = Element(ShapeOf(c.Input(0)), -2) - c.Int32(1), zero = c.Int32(0);
    const Expr which = c.Bool("lower") ? Pack({-last, zero}) : Pack({zero, last});
    return AddOp("MatrixDiagPartV3", {da, which, Zero(da)}, {{"align", AttrValue("LEFT_RIGHT")}});
  };
  return Solution(c, true, solve, bands);
}

// --- Least squares, by the normal equations --------------------------------------------------------------------------

// The solution of (A' A + l) X = B, or with A A' for a wide A.
Expr SolveNormal(const Expr& a, const Expr& regularizer, bool is_wide, const Expr& b) {
  const Expr gram = BatchMatMul(a, a, !is_wide, is_wide);
  const Expr size = AsVector(Element(ShapeOf(gram), -1));
  const Expr diagonal = AddOp("MatrixDiag", {Fill(size, regularizer)});
  return AddOp("MatrixSolve", {gram + diagonal, b}, Adjoint(false));
}

absl::Status MatrixSolveLs(GradientContext& c) {
  if (!c.Bool("fast")) return c.Refuse("it is defined for fast = true only, as in TensorFlow");
  const PartialShape shape = c.InputShape(0);
  if (!shape.has_rank() || shape.rank() < 2 || shape.dim(shape.rank() - 2) < 0 || shape.dim(shape.rank() - 1) < 0) {
    return c.Refuse("the size of its matrix is not known before the run");
  }
  const Expr a = c.Input(0), b = c.Input(1), x = c.Output(), dy = c.dy();
  const Expr regularizer = Cast(c.Input(2), a.type());
  if (shape.dim(shape.rank() - 2) >= shape.dim(shape.rank() - 1)) {
    const Expr z = SolveNormal(a, regularizer, false, dy);
    const Expr product = BatchMatMul(x, z, false, true);
    if (c.Wants(0)) c.SetInput(0, BatchMatMul(b, z, false, true) - BatchMatMul(a, product + sluice::Adjoint(product)));
    if (c.Wants(1)) c.SetInput(1, BatchMatMul(a, z));
    return absl::OkStatus();
  }
  const Expr db = SolveNormal(a, regularizer, true, BatchMatMul(a, dy));
  if (c.Wants(1)) c.SetInput(1, db);
  if (c.Wants(0)) {
    const Expr z = SolveNormal(a, regularizer, true, b);
    const Expr rest = dy - BatchMatMul(a, db, true, false);
    c.SetInput(0, BatchMatMul(z, rest, false, true) - BatchMatMul(db, BatchMatMul(z, a, true, false)));
  }
  return absl::OkStatus();
}

// Y Y = A: dA solves the equation of Sylvester Y' Z + Z Y' = dY, written out as one system with the elements of Z row
// by row.
absl::Status MatrixSquareRoot(GradientContext& c) {
  const Expr y = sluice::Adjoint(c.Output()), shape = ShapeOf(y), batch = SliceRange(shape, 0, -2);
  const Expr order = AsVector(LastDim(shape)), one = c.Int32s({1});
  const Expr eye = AddOp("MatrixDiag", {Fill(order, Number(y, 1))});
  // The product of all elements of two matrices: [i, k, j, l] -> a[i, j] b[k, l].
  const auto kronecker = [&](const Expr& a, const Expr& b) {
    return ExpandDims(ExpandDims(a, -2), -1) * ExpandDims(ExpandDims(b, -3), -2);
  };
  const Expr squared = order * order;
  const Expr system = Reshape(kronecker(y, eye) + kronecker(eye, SwapLastTwo(y)), Concat({batch, squared, squared}, 0));
  const Expr flat = Reshape(c.dy(), Concat({batch, squared, one}, 0));
  c.SetInput(0, Reshape(AddOp("MatrixSolve", {system, flat}, Adjoint(false)), shape));
  return absl::OkStatus();
}

// --- Three diagonals -------------------------------------------------------------------------------------------------

// All rows of matrices but the first, or with `from_end` but the last.
Expr RowsBut(const Expr& x, bool from_end) {
  const Expr begin = Int32s(x, {0, from_end ? 0 : 1, 0}), end = Int32s(x, {0, from_end ? -1 : 0, 0});
  return AddOp("StridedSlice", {x, begin, end, Int32s(x, {1, 1, 1})},
               {{"ellipsis_mask", AttrValue(int64_t{1})},
                {"begin_mask", AttrValue(int64_t{4})},
                {"end_mask", AttrValue(int64_t{from_end ? 4 : 6})}});
}
// A row of zeros.
Expr ZeroRow(const Expr& x) {
  return ZerosLike(AddOp("StridedSlice", {x, Int32s(x, {0, 0, 0}), Int32s(x, {0, 1, 0}), Int32s(x, {1, 1, 1})},
                         {{"ellipsis_mask", AttrValue(int64_t{1})},
                          {"begin_mask", AttrValue(int64_t{4})},
                          {"end_mask", AttrValue(int64_t{4})}}));
}
// Shifts the rows by one, to the next or the previous; the free row is zero.
Expr Next(const Expr& x) { return Concat({RowsBut(x, false), ZeroRow(x)}, -2); }
Expr Before(const Expr& x) { return Concat({ZeroRow(x), RowsBut(x, true)}, -2); }

// y_i = upper_i x_(i+1) + main_i x_i + lower_i x_(i-1); each diagonal is a row.
absl::Status TridiagonalMatMul(GradientContext& c) {
  const Expr x = Conj(c.Input(3)), dy = c.dy();
  const auto set = [&](int i, const Expr& factor) {
    if (c.Wants(i)) c.SetInput(i, ExpandDims(Sum(factor * dy, {-1}), -2));
  };
  set(0, Next(x));
  set(1, x);
  set(2, Before(x));
  if (c.Wants(3)) {
    const auto scaled = [&](int i) { return sluice::Adjoint(c.Input(i)) * dy; };
    c.SetInput(3, Before(scaled(0)) + scaled(1) + Next(scaled(2)));
  }
  return absl::OkStatus();
}

// The operand has the three diagonals as rows.
absl::Status TridiagonalSolve(GradientContext& c) {
  const auto diagonals = [](const Expr& x) {
    return AddOp("Unpack", {x}, {{"num", AttrValue(int64_t{3})}, {"axis", AttrValue(int64_t{-1})}});
  };
  const Expr columns = sluice::Adjoint(c.Input(0)), x = Conj(c.Output());
  const Expr adjoint =
      Pack({diagonals(Next(columns)).out(2), diagonals(columns).out(1), diagonals(Before(columns))}, -2);
  const Expr db = AddOp("TridiagonalSolve", {adjoint, c.dy()}, c.CopyAttrs({"partial_pivoting", "perturb_singular"}));
  if (c.Wants(0)) {
    c.SetInput(0, -Pack({Sum(db * Next(x), {-1}), Sum(db * x, {-1}), Sum(db * Before(x), {-1})}, -2));
  }
  if (c.Wants(1)) c.SetInput(1, db);
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"BandedTriangularSolve", &BandedTriangularSolve},
    {"LogMatrixDeterminant", &LogMatrixDeterminant},
    {"MatrixDeterminant", &MatrixDeterminant},
    {"MatrixInverse", &MatrixInverse},
    {"MatrixSolve", &MatrixSolve},
    {"MatrixSolveLs", &MatrixSolveLs},
    {"MatrixSquareRoot", &MatrixSquareRoot},
    {"MatrixTriangularSolve", &MatrixTriangularSolve},
    {"TridiagonalMatMul", &TridiagonalMatMul},
    {"TridiagonalSolve", &TridiagonalSolve},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> LinalgGradients() { return kRows; }

}  // namespace sluice

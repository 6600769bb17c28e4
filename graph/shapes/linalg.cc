// Shapes of linear algebra, diagonals and Fourier transforms. All of it works on the last dimensions; the first ones
// are a batch.

#include <algorithm>

#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

PartialShape BatchOf(const InferenceContext& c, int i, int matrix_rank = 2) {
  return c.rank(i) >= matrix_rank ? SubShape(c.input(i), 0, c.rank(i) - matrix_rank) : PartialShape();
}

absl::Status RequireSquare(const InferenceContext& c, int i) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(i, 2));
  if (!DimsDiffer(c.dim(i, -2), c.dim(i, -1))) return absl::OkStatus();
  return c.MismatchError(i, "the matrix is not square", c.input(i), PartialShape());
}

absl::Status SquareMatrix(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSquare(c, 0));
  return SameAsInput0(c);
}

absl::Status Determinant(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSquare(c, 0));
  c.SetAll(BatchOf(c, 0));
  return absl::OkStatus();
}

absl::Status MatrixSolve(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSquare(c, 0));
  return SameAsInput1(c);
}

// Batches broadcast.
absl::Status TriangularSolve(InferenceContext& c) {
  bool differ = false;
  const PartialShape batch = BroadcastShapes(BatchOf(c, 0), BatchOf(c, 1), &differ);
  if (c.rank(1) >= 2 && !differ) c.Set(0, ConcatShapes(batch, ShapeOf({c.dim(1, -2), c.dim(1, -1)})));
  return absl::OkStatus();
}

absl::Status MatrixSolveLs(InferenceContext& c) {
  c.Set(0, ConcatShapes(BatchOf(c, 0), ShapeOf({c.dim(0, -1), c.dim(1, -1)})));
  return absl::OkStatus();
}

// Eigenvalues, and vectors if asked for.
absl::Status SelfAdjointEig(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSquare(c, 0));
  const int64_t n = EitherDim(c.dim(0, -1), c.dim(0, -2));
  c.Set(0, ConcatShapes(BatchOf(c, 0), ShapeOf({n})));
  c.Set(1, c.Bool("compute_v", true) ? ConcatShapes(BatchOf(c, 0), ShapeOf({n, n})) : ShapeOf({0}));
  return absl::OkStatus();
}

absl::Status Qr(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 2));
  const int64_t m = c.dim(0, -2), n = c.dim(0, -1);
  const int64_t inner = c.Bool("full_matrices") ? m : MinDims(m, n);
  c.Set(0, ConcatShapes(BatchOf(c, 0), ShapeOf({m, inner})));
  c.Set(1, ConcatShapes(BatchOf(c, 0), ShapeOf({inner, n})));
  return absl::OkStatus();
}

absl::Status Svd(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 2));
  const int64_t m = c.dim(0, -2), n = c.dim(0, -1), p = MinDims(m, n);
  c.Set(0, ConcatShapes(BatchOf(c, 0), ShapeOf({p})));
  const bool full = c.Bool("full_matrices"), vectors = c.Bool("compute_uv", true);
  c.Set(1, vectors ? ConcatShapes(BatchOf(c, 0), ShapeOf({m, full ? m : p})) : ShapeOf({0}));
  c.Set(2, vectors ? ConcatShapes(BatchOf(c, 0), ShapeOf({n, full ? n : p})) : ShapeOf({0}));
  return absl::OkStatus();
}

absl::Status Lu(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSquare(c, 0));
  c.Set(0, c.input(0));
  c.Set(1, ConcatShapes(BatchOf(c, 0), ShapeOf({c.dim(0, -1)})));
  return absl::OkStatus();
}

absl::Status SameAsInput3(InferenceContext& c) {
  c.Set(0, c.input(3));
  return absl::OkStatus();
}

// --- Diagonals ---------------------------------------------------------------------------------------------------

absl::Status Diag(InferenceContext& c) {
  c.Set(0, ConcatShapes(c.input(0), c.input(0)));
  return absl::OkStatus();
}

absl::Status DiagPart(InferenceContext& c) {
  if (!c.input(0).has_rank() || c.rank(0) % 2 != 0) return absl::OkStatus();
  absl::StatusOr<PartialShape> merged =
      SubShape(c.input(0), 0, c.rank(0) / 2).MergeWith(SubShape(c.input(0), c.rank(0) / 2));
  if (merged.ok()) c.Set(0, *merged);
  return absl::OkStatus();
}

absl::Status MatrixDiag(InferenceContext& c) {
  if (c.rank(0) >= 1) c.Set(0, ConcatShapes(c.input(0), ShapeOf({c.dim(0, -1)})));
  return absl::OkStatus();
}

absl::Status MatrixDiagPart(InferenceContext& c) {
  c.Set(0, ConcatShapes(BatchOf(c, 0), ShapeOf({MinDims(c.dim(0, -2), c.dim(0, -1))})));
  return absl::OkStatus();
}

// The lowest and highest diagonal, in input 1. False when not known or no sound range.
bool ReadDiagonals(const InferenceContext& c, int64_t* low, int64_t* high) {
  constexpr int64_t kMax = int64_t{1} << 31;
  const ShapeValue* k = c.value(1);
  if (k == nullptr || !k->IsKnown() || k->size() < 1 || k->size() > 2) return false;
  *low = (*k)[0];
  *high = (*k)[k->size() - 1];
  return *low > -kMax && *high < kMax && *low <= *high;
}

absl::Status MatrixDiagV2(InferenceContext& c) {
  int64_t low, high;
  if (c.rank(0) < 1 || !ReadDiagonals(c, &low, &high)) return absl::OkStatus();
  const int diagonal_rank = low == high ? 1 : 2;
  const int64_t longest = c.dim(0, -1);
  int64_t rows = c.scalar(2), columns = c.scalar(3);
  if (c.rank(0) < diagonal_rank) return absl::OkStatus();
  const bool known = longest >= 0 && rows != kUnknownValue && columns != kUnknownValue;
  const int64_t min_rows = AddDims(longest, high < 0 ? -high : 0), min_columns = AddDims(longest, low > 0 ? low : 0);
  if (!known) {
    rows = columns = kUnknownDim;
  } else if (rows == -1 && columns == -1) {
    rows = columns = std::max(min_rows, min_columns);
  } else {
    rows = rows == -1 ? min_rows : rows;
    columns = columns == -1 ? min_columns : columns;
  }
  c.Set(0, ConcatShapes(BatchOf(c, 0, diagonal_rank), ShapeOf({DimOrUnknown(rows), DimOrUnknown(columns)})));
  return absl::OkStatus();
}

absl::Status MatrixDiagPartV2(InferenceContext& c) {
  int64_t low, high;
  if (c.rank(0) < 2 || !ReadDiagonals(c, &low, &high)) return absl::OkStatus();
  const int64_t rows = SubDims(c.dim(0, -2), high < 0 ? -high : 0);
  const int64_t columns = SubDims(c.dim(0, -1), low > 0 ? low : 0);
  const PartialShape length = ShapeOf({MinDims(rows, columns)});
  const PartialShape batch = low == high ? BatchOf(c, 0) : ConcatShapes(BatchOf(c, 0), ShapeOf({high - low + 1}));
  c.Set(0, ConcatShapes(batch, length));
  return absl::OkStatus();
}

// --- Fourier transforms --------------------------------------------------------------------------------------------

// Transforms of real data: the last dimensions take the lengths in input 1, the very last half of it if `forward`.
absl::Status RealTransform(InferenceContext& c, int dimensions, bool forward) {
  if (c.rank(0) < dimensions) return absl::OkStatus();
  const ShapeValue* lengths = c.value(1);
  Dims dims = DimsOf(c.input(0));
  const size_t first = dims.size() - static_cast<size_t>(dimensions);
  const bool usable = lengths != nullptr && static_cast<int>(lengths->size()) == dimensions;
  for (size_t i = 0; i < static_cast<size_t>(dimensions); ++i) {
    const int64_t length = usable ? lengths->SizeAt(i) : kUnknownDim;
    const bool halved = forward && first + i + 1 == dims.size() && length != 0;
    dims[first + i] = halved ? AddDims(length < 0 ? kUnknownDim : length / 2, 1) : length;
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

absl::Status Rfft(InferenceContext& c) { return RealTransform(c, 1, true); }
absl::Status Rfft2D(InferenceContext& c) { return RealTransform(c, 2, true); }
absl::Status Rfft3D(InferenceContext& c) { return RealTransform(c, 3, true); }
absl::Status Irfft(InferenceContext& c) { return RealTransform(c, 1, false); }
absl::Status Irfft2D(InferenceContext& c) { return RealTransform(c, 2, false); }
absl::Status Irfft3D(InferenceContext& c) { return RealTransform(c, 3, false); }

constexpr ShapeRow kRows[] = {
    {"BandedTriangularSolve", &TriangularSolve},
    {"BatchCholesky", &SquareMatrix},
    {"BatchCholeskyGrad", &SameAsInput0},
    {"BatchFFT", &SameAsInput0},
    {"BatchIFFT", &SameAsInput0},
    {"BatchMatrixBandPart", &SameAsInput0},
    {"BatchMatrixDeterminant", &Determinant},
    {"BatchMatrixDiag", &MatrixDiag},
    {"BatchMatrixDiagPart", &MatrixDiagPart},
    {"BatchMatrixInverse", &SquareMatrix},
    {"BatchMatrixSetDiag", &SameAsInput0},
    {"BatchMatrixSolve", &MatrixSolve},
    {"BatchMatrixSolveLs", &MatrixSolveLs},
    {"BatchMatrixTriangularSolve", &TriangularSolve},
    {"BatchSelfAdjointEigV2", &SelfAdjointEig},
    {"BatchSvd", &Svd},
    {"Cholesky", &SquareMatrix},
    {"CholeskyGrad", &SameAsInput0},
    {"Diag", &Diag},
    {"DiagPart", &DiagPart},
    {"FFT", &SameAsInput0},
    {"FFT2D", &SameAsInput0},
    {"FFT3D", &SameAsInput0},
    {"IFFT", &SameAsInput0},
    {"IFFT2D", &SameAsInput0},
    {"IFFT3D", &SameAsInput0},
    {"IRFFT", &Irfft},
    {"IRFFT2D", &Irfft2D},
    {"IRFFT3D", &Irfft3D},
    {"LogMatrixDeterminant", &Determinant},
    {"Lu", &Lu},
    {"MatrixBandPart", &SameAsInput0},
    {"MatrixDeterminant", &Determinant},
    {"MatrixDiag", &MatrixDiag},
    {"MatrixDiagPart", &MatrixDiagPart},
    {"MatrixDiagPartV2", &MatrixDiagPartV2},
    {"MatrixDiagPartV3", &MatrixDiagPartV2},
    {"MatrixDiagV2", &MatrixDiagV2},
    {"MatrixDiagV3", &MatrixDiagV2},
    {"MatrixExponential", &SquareMatrix},
    {"MatrixInverse", &SquareMatrix},
    {"MatrixLogarithm", &SquareMatrix},
    {"MatrixSetDiag", &SameAsInput0},
    {"MatrixSetDiagV2", &SameAsInput0},
    {"MatrixSetDiagV3", &SameAsInput0},
    {"MatrixSolve", &MatrixSolve},
    {"MatrixSolveLs", &MatrixSolveLs},
    {"MatrixSquareRoot", &SquareMatrix},
    {"MatrixTriangularSolve", &TriangularSolve},
    {"Qr", &Qr},
    {"RFFT", &Rfft},
    {"RFFT2D", &Rfft2D},
    {"RFFT3D", &Rfft3D},
    {"SelfAdjointEigV2", &SelfAdjointEig},
    {"Svd", &Svd},
    {"TridiagonalMatMul", &SameAsInput3},
    {"TridiagonalSolve", &SameAsInput1},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> LinalgRows() { return kRows; }

}  // namespace sluice

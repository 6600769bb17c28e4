// Shapes of products of matrices.

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

// The last two dimensions of input `i`, exchanged when `transpose`.
struct Matrix {
  int64_t rows, columns;
};
Matrix MatrixOf(const InferenceContext& c, int i, bool transpose) {
  const Matrix m = {c.dim(i, -2), c.dim(i, -1)};
  return transpose ? Matrix{m.columns, m.rows} : m;
}

// The product of the last two dimensions of inputs 0 and 1.
absl::Status Product(InferenceContext& c, bool transpose_a, bool transpose_b, Matrix* product) {
  const Matrix a = MatrixOf(c, 0, transpose_a), b = MatrixOf(c, 1, transpose_b);
  if (DimsDiffer(a.columns, b.rows)) {
    return c.MismatchError(1,
                           absl::StrCat("shapes ", c.input(0).ToString(), transpose_a ? " (transposed)" : "", " and ",
                                        c.input(1).ToString(), transpose_b ? " (transposed)" : "",
                                        " do not multiply: found inner dimensions ", a.columns, " and ", b.rows),
                           c.input(1), c.input(0));
  }
  *product = {a.rows, b.columns};
  return absl::OkStatus();
}

absl::Status MatMul(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 2));
  Matrix product;
  SLUICE_RETURN_IF_ERROR(Product(c, c.Bool("transpose_a"), c.Bool("transpose_b"), &product));
  c.Set(0, Dims{product.rows, product.columns});
  return absl::OkStatus();
}

// `broadcast`: batch dimensions broadcast; else they must be equal.
absl::Status BatchProduct(InferenceContext& c, bool broadcast) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 2));
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(1, 2));
  Matrix product;
  SLUICE_RETURN_IF_ERROR(Product(c, c.Bool("adj_x"), c.Bool("adj_y"), &product));
  if (!c.input(0).has_rank() || !c.input(1).has_rank()) return absl::OkStatus();
  const PartialShape a = SubShape(c.input(0), 0, c.rank(0) - 2), b = SubShape(c.input(1), 0, c.rank(1) - 2);
  PartialShape batch;
  if (broadcast) {
    bool differ = false;
    batch = BroadcastShapes(a, b, &differ);
    if (differ) return c.MismatchError(1, "the batch dimensions do not broadcast", c.input(1), c.input(0));
  } else {
    if (!a.IsCompatibleWith(b)) return c.MismatchError(1, "the batch dimensions differ", c.input(1), c.input(0));
    absl::StatusOr<PartialShape> merged = a.MergeWith(b);
    if (merged.ok()) batch = *std::move(merged);
  }
  c.Set(0, ConcatShapes(batch, ShapeOf({product.rows, product.columns})));
  return absl::OkStatus();
}

absl::Status BatchMatMul(InferenceContext& c) { return BatchProduct(c, false); }
absl::Status BatchMatMulV2(InferenceContext& c) { return BatchProduct(c, true); }

// The product of quantized matrices and its range.
absl::Status QuantizedMatMul(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(MatMul(c));
  for (int i = 1; i < c.num_outputs(); ++i) c.SetScalar(i);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"BatchMatMul", &BatchMatMul}, {"BatchMatMulV2", &BatchMatMulV2},     {"BatchMatMulV3", &BatchMatMulV2},
    {"MatMul", &MatMul},           {"QuantizedMatMul", &QuantizedMatMul}, {"SparseMatMul", &MatMul},
    {"_FusedMatMul", &MatMul},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> MatmulRows() { return kRows; }

}  // namespace sluice

// Shapes of ops on sparse tensors: indices [entries, rank], values [entries], shape [rank].

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

void SetSparse(InferenceContext& c, int first, int64_t entries, int64_t rank) {
  c.Set(first, Dims{entries, rank});
  c.SetVector(first + 1, entries);
  c.SetVector(first + 2, rank);
}

absl::Status SparseToDense(InferenceContext& c) { return ShapeInInput1(c); }

// Indices, values and shape of a matrix, and a dense one.
absl::Status SparseDenseMatMul(InferenceContext& c) {
  const ShapeValue* shape = c.value(2);
  int64_t rows = kUnknownDim, inner = kUnknownDim;
  if (shape != nullptr && shape->size() == 2) {
    rows = shape->SizeAt(c.Bool("adjoint_a") ? 1 : 0);
    inner = shape->SizeAt(c.Bool("adjoint_a") ? 0 : 1);
  }
  SLUICE_RETURN_IF_ERROR(c.RequireRank(3, 2));
  if (DimsDiffer(inner, c.dim(3, c.Bool("adjoint_b") ? 1 : 0))) {
    return c.MismatchError(3, absl::StrCat("inner dimensions differ, the sparse one is ", inner), c.input(3),
                           PartialShape());
  }
  c.Set(0, Dims{rows, c.dim(3, c.Bool("adjoint_b") ? 0 : 1)});
  return absl::OkStatus();
}

absl::Status SparseReorder(InferenceContext& c) {
  c.Set(0, c.input(0));
  c.Set(1, c.input(1));
  return absl::OkStatus();
}

absl::Status SparseReshape(InferenceContext& c) {
  c.Set(0, Dims{c.dim(0, 0), c.dim(2, 0)});
  c.SetVector(1, c.dim(2, 0));
  return absl::OkStatus();
}

// Results with another number of entries, of the rank that the indices in input 0 have.
absl::Status SparseOfSameRank(InferenceContext& c) {
  SetSparse(c, 0, kUnknownDim, c.dim(0, 1));
  return absl::OkStatus();
}

absl::Status SparseSplit(InferenceContext& c) {
  const int parts = c.num_outputs() / 3;
  for (int i = 0; i < parts; ++i) {
    c.Set(i, Dims{kUnknownDim, c.dim(1, 1)});
    c.SetVector(parts + i, kUnknownDim);
    c.SetVector(2 * parts + i, EitherDim(c.dim(3, 0), c.dim(1, 1)));
  }
  return absl::OkStatus();
}

absl::Status SparseAddGrad(InferenceContext& c) {
  c.SetVector(0, c.dim(1, 0));
  c.SetVector(1, c.dim(2, 0));
  return absl::OkStatus();
}

absl::Status SparseSliceGrad(InferenceContext& c) {
  c.SetVector(0, c.dim(1, 0));
  return absl::OkStatus();
}

// Indices and values with a default in each empty row, which rows were empty, and where each entry went.
absl::Status SparseFillEmptyRows(InferenceContext& c) {
  const ShapeValue* shape = c.value(2);
  c.Set(0, Dims{kUnknownDim, EitherDim(c.dim(0, 1), c.dim(2, 0))});
  c.SetVector(1, kUnknownDim);
  c.SetVector(2, shape != nullptr && shape->size() > 0 ? shape->SizeAt(0) : kUnknownDim);
  c.SetVector(3, EitherDim(c.dim(0, 0), c.dim(1, 0)));
  return absl::OkStatus();
}

absl::Status SparseFillEmptyRowsGrad(InferenceContext& c) {
  c.SetVector(0, c.dim(0, 0));
  c.SetScalar(1);
  return absl::OkStatus();
}

// Both operands' entries, of the same rank.
absl::Status SparseSparse(InferenceContext& c) {
  c.Set(0, Dims{kUnknownDim, EitherDim(c.dim(0, 1), c.dim(3, 1))});
  c.SetVector(1, kUnknownDim);
  return absl::OkStatus();
}

absl::Status SameAsInput3(InferenceContext& c) {
  c.Set(0, c.input(3));
  return absl::OkStatus();
}

// Sets along the last dimension of two dense tensors, or of a dense and a sparse one: the rank of the first.
absl::Status DenseSetOperation(InferenceContext& c) {
  SetSparse(c, 0, kUnknownDim, c.rank(0));
  return absl::OkStatus();
}

absl::Status SparseSetOperation(InferenceContext& c) {
  SetSparse(c, 0, kUnknownDim, EitherDim(c.dim(0, 1), c.dim(3, 1)));
  return absl::OkStatus();
}

absl::Status SparseConcat(InferenceContext& c) { return SparseOfSameRank(c); }

// Ranks of indices, values and shape in inputs 0 to 2.
absl::Status RequireSparse(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  return c.RequireRank(2, 1);
}

absl::Status SerializeSparse(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSparse(c));
  c.SetVector(0, 3);
  return absl::OkStatus();
}

absl::Status SerializeManySparse(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSparse(c));
  const ShapeValue* const shape = c.value(2);
  c.Set(0, Dims{shape != nullptr && shape->size() > 0 ? shape->SizeAt(0) : kUnknownDim, 3});
  return absl::OkStatus();
}

// Three elements on the last axis for each tensor.
absl::Status DeserializeSparse(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  if (DimsDiffer(c.dim(0, -1), 3)) return c.RankError(0, "3 elements on the last axis");
  SetSparse(c, 0, kUnknownDim, kUnknownDim);
  return absl::OkStatus();
}

absl::Status DeserializeManySparse(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  return DeserializeSparse(c);
}

absl::Status AddSparseToTensorsMap(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSparse(c));
  c.SetScalar(0);
  return absl::OkStatus();
}

absl::Status AddManySparseToTensorsMap(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(RequireSparse(c));
  const ShapeValue* const shape = c.value(2);
  c.SetVector(0, shape != nullptr && shape->size() > 0 ? shape->SizeAt(0) : kUnknownDim);
  return absl::OkStatus();
}

absl::Status TakeManySparse(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  SetSparse(c, 0, kUnknownDim, kUnknownDim);
  return absl::OkStatus();
}

// --- Ragged ----------------------------------------------------------------------------------------------------------

// A scalar, or a variant for each row of the first splits (without splits: TensorFlow's guess is of no use).
absl::Status RaggedTensorToVariant(InferenceContext& c) {
  const int values = c.num_inputs() - 1;
  for (int i = 0; i < values; ++i) SLUICE_RETURN_IF_ERROR(c.RequireRank(i, 1));
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(values, 1));
  if (!c.Bool("batched_input")) {
    c.SetScalar(0);
  } else if (values > 0) {
    c.SetVector(0, SubDims(c.dim(0, 0), 1));
  }
  return absl::OkStatus();
}

absl::Status RaggedTensorFromVariant(InferenceContext& c) {
  const int64_t inner = c.Int("input_ragged_rank"), rank = c.Int("output_ragged_rank");
  if (inner >= 0) {
    if (rank < inner) return c.AttrError("output_ragged_rank", "is less than attr input_ragged_rank");
    SLUICE_RETURN_IF_ERROR(c.RequireRank(0, static_cast<int>(rank - inner)));
  }
  for (int i = 0; i + 1 < c.num_outputs(); ++i) c.SetVector(i, kUnknownDim);
  return absl::OkStatus();
}

absl::Status RaggedTensorToVariantGradient(InferenceContext& c) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(2, /*minus_one_is_unknown=*/true, &shape));
  c.Set(0, shape);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"AddManySparseToTensorsMap", &AddManySparseToTensorsMap},
    {"AddSparseToTensorsMap", &AddSparseToTensorsMap},
    {"DenseToDenseSetOperation", &DenseSetOperation},
    {"DenseToSparseSetOperation", &DenseSetOperation},
    {"DeserializeManySparse", &DeserializeManySparse},
    {"DeserializeSparse", &DeserializeSparse},
    {"EditDistance", &UnknownOutputs},
    {"RaggedCross", &VectorOutputs},
    {"RaggedTensorFromVariant", &RaggedTensorFromVariant},
    {"RaggedTensorToVariant", &RaggedTensorToVariant},
    {"RaggedTensorToVariantGradient", &RaggedTensorToVariantGradient},
    {"SerializeManySparse", &SerializeManySparse},
    {"SerializeSparse", &SerializeSparse},
    {"SetSize", &UnknownOutputs},
    {"SparseAdd", &SparseOfSameRank},
    {"SparseAddGrad", &SparseAddGrad},
    {"SparseConcat", &SparseConcat},
    {"SparseDenseCwiseAdd", &SameAsInput1},
    {"SparseDenseCwiseDiv", &SameAsInput1},
    {"SparseDenseCwiseMul", &SameAsInput1},
    {"SparseFillEmptyRows", &SparseFillEmptyRows},
    {"SparseFillEmptyRowsGrad", &SparseFillEmptyRowsGrad},
    {"SparseReduceMax", &UnknownOutputs},
    {"SparseReduceMaxSparse", &UnknownOutputs},
    {"SparseReduceSum", &UnknownOutputs},
    {"SparseReduceSumSparse", &UnknownOutputs},
    {"SparseReorder", &SparseReorder},
    {"SparseReshape", &SparseReshape},
    {"SparseSlice", &SparseOfSameRank},
    {"SparseSliceGrad", &SparseSliceGrad},
    {"SparseSoftmax", &SameAsInput1},
    {"SparseSparseMaximum", &SparseSparse},
    {"SparseSparseMinimum", &SparseSparse},
    {"SparseSplit", &SparseSplit},
    {"SparseTensorDenseAdd", &SameAsInput3},
    {"SparseTensorDenseMatMul", &SparseDenseMatMul},
    {"SparseToDense", &SparseToDense},
    {"SparseToSparseSetOperation", &SparseSetOperation},
    {"TakeManySparseFromTensorsMap", &TakeManySparse},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> SparseRows() { return kRows; }

}  // namespace sluice

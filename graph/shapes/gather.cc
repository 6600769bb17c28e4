// Shapes of ops that pick, spread, sort out or count elements by index.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

absl::Status Gather(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  c.Set(0, ConcatShapes(c.input(1), SubShape(c.input(0), 1)));
  return absl::OkStatus();
}

absl::Status GatherV2(InferenceContext& c) {
  if (!c.input(0).has_rank() || !c.input(1).has_rank()) return absl::OkStatus();
  const int64_t stated = c.scalar(2);
  int64_t batch = c.Int("batch_dims");
  if (batch < 0) batch += c.rank(1);
  if (batch < 0 || batch > c.rank(1) || batch >= std::max(c.rank(0), 1)) return absl::OkStatus();
  if (stated == kUnknownValue) {
    const int64_t rank = c.rank(0) + c.rank(1) - 1 - batch;
    if (rank >= 0 && rank <= kMaxRank) c.Set(0, PartialShape::OfRank(static_cast<int>(rank)));
    return absl::OkStatus();
  }
  int axis;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(stated, c.rank(0), 2, &axis));
  if (batch > axis) return absl::OkStatus();
  const PartialShape rows = ConcatShapes(SubShape(c.input(0), 0, axis), SubShape(c.input(1), static_cast<int>(batch)));
  c.Set(0, ConcatShapes(rows, SubShape(c.input(0), axis + 1)));
  return absl::OkStatus();
}

// The last axis of the indices holds coordinates within the first axes of the parameters.
absl::Status PickByCoordinates(InferenceContext& c, const PartialShape& params, const PartialShape& indices) {
  if (!params.has_rank() || indices.rank() < 1) return absl::OkStatus();
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return absl::OkStatus();
  if (depth > params.rank()) {
    return c.MismatchError(1, absl::StrCat("indices of ", depth, " coordinates for a tensor of rank ", params.rank()),
                           indices, params);
  }
  c.Set(0, ConcatShapes(SubShape(indices, 0, indices.rank() - 1), SubShape(params, static_cast<int>(depth))));
  return absl::OkStatus();
}

absl::Status GatherNd(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(1, 1));
  return PickByCoordinates(c, c.input(0), c.input(1));
}

// The variable may by then have another shape than its handle states.
absl::Status ResourceGather(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(c.RequireHandleType(0, 0, c.Type("dtype"), "dtype"));
  const PartialShape variable = c.handle_shape(0);
  if (!variable.has_rank() || !c.input(1).has_rank()) return absl::OkStatus();
  int64_t batch = c.Int("batch_dims");
  if (batch < 0) batch += c.rank(1);
  if (batch < 0 || batch > c.rank(1) || batch >= variable.rank()) return absl::OkStatus();
  const PartialShape rows =
      ConcatShapes(SubShape(variable, 0, static_cast<int>(batch)), SubShape(c.input(1), static_cast<int>(batch)));
  c.Set(0, ConcatShapes(rows, SubShape(variable, static_cast<int>(batch) + 1)));
  return absl::OkStatus();
}

absl::Status ResourceGatherNd(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(c.RequireHandleType(0, 0, c.Type("dtype"), "dtype"));
  return PickByCoordinates(c, c.handle_shape(0), c.input(1));
}

absl::Status ScatterNd(InferenceContext& c) {
  PartialShape shape;
  SLUICE_RETURN_IF_ERROR(c.ShapeFromValue(2, false, &shape));
  c.Set(0, shape);
  return absl::OkStatus();
}

absl::Status OneHot(InferenceContext& c) {
  const int64_t stated = c.Int("axis", -1), depth = c.scalar(1);
  if (stated < -1) return c.AttrError("axis", absl::StrCat("found ", stated, ", expected -1 or more"));
  if (depth < 0 && depth != kUnknownValue) return c.ValueError(1, absl::StrCat("the depth ", depth, " is negative"));
  if (!c.input(0).has_rank()) return absl::OkStatus();
  int axis;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(stated, c.rank(0) + 1, -1, &axis));
  Dims dims = DimsOf(c.input(0));
  dims.insert(dims.begin() + axis, c.scalar_size(1));
  c.Set(0, dims);
  return absl::OkStatus();
}

// Parts of `data` by the number in `partitions`: how many go where is known at run time.
absl::Status DynamicPartition(InferenceContext& c) {
  if (!c.input(0).has_rank() || !c.input(1).has_rank() || c.rank(1) > c.rank(0)) return absl::OkStatus();
  c.SetAll(ConcatShapes(PartialShape::OfRank(1), SubShape(c.input(0), c.rank(1))));
  return absl::OkStatus();
}

// Indices, then as many data tensors. The number of rows is the largest index and one.
absl::Status DynamicStitch(InferenceContext& c) {
  const int count = c.num_inputs() / 2;
  PartialShape row;
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) {
    const ShapeValue* indices = c.value(i);
    const std::vector<int64_t> all = indices != nullptr ? indices->elements : c.const_matrix(i);
    const bool empty = c.input(i).num_elements() == 0;
    if (all.empty() && !empty) rows = kUnknownDim;
    for (const int64_t index : all) rows = rows < 0 || index < 0 ? kUnknownDim : std::max(rows, AddDims(index, 1));
    if (!c.input(i).has_rank() || !c.input(count + i).has_rank() || c.rank(i) > c.rank(count + i)) continue;
    absl::StatusOr<PartialShape> merged = row.MergeWith(SubShape(c.input(count + i), c.rank(i)));
    if (!merged.ok()) return absl::OkStatus();
    row = *std::move(merged);
  }
  c.Set(0, ConcatShapes(ShapeOf({rows}), row));
  return absl::OkStatus();
}

absl::Status Where(InferenceContext& c) {
  c.Set(0, Dims{kUnknownDim, c.rank(0)});
  return absl::OkStatus();
}

// Values, the index of each element among them, and (if asked) counts.
absl::Status Unique(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  c.SetAll(PartialShape::OfRank(1));
  c.SetVector(1, c.dim(0, 0));
  return absl::OkStatus();
}

absl::Status UniqueV2(InferenceContext& c) {
  c.SetAll(PartialShape::OfRank(1));
  if (c.input(0).has_rank())
    c.Set(0, PartialShape::OfRank(c.rank(0)));
  else
    c.Set(0, PartialShape());
  return absl::OkStatus();
}

absl::Status ListDiff(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 1));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  c.SetAll(PartialShape::OfRank(1));
  return absl::OkStatus();
}

absl::Status UnravelIndex(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  c.Set(0, ConcatShapes(ShapeOf({c.dim(1, 0)}), c.rank(0) == 0 ? PartialShape::Scalar() : SubShape(c.input(0), 0)));
  return absl::OkStatus();
}

// `k` elements of each last axis; values and indices.
absl::Status TopElements(InferenceContext& c, int64_t k) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  if (k >= 0 && c.dim(0, -1) >= 0 && k > c.dim(0, -1)) {
    return c.MismatchError(0, absl::StrCat("the last dimension has fewer than k = ", k, " elements"), c.input(0),
                           PartialShape());
  }
  if (c.input(0).has_rank()) {
    c.SetAll(ConcatShapes(SubShape(c.input(0), 0, c.rank(0) - 1), ShapeOf({k})));
  }
  return absl::OkStatus();
}

absl::Status TopK(InferenceContext& c) { return TopElements(c, DimOrUnknown(c.Int("k"))); }
absl::Status TopKV2(InferenceContext& c) { return TopElements(c, c.scalar_size(1)); }

absl::Status NthElement(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  if (c.input(0).has_rank()) c.Set(0, SubShape(c.input(0), 0, c.rank(0) - 1));
  return absl::OkStatus();
}

// One answer per row: predictions [batch, classes], targets [batch].
absl::Status InTopK(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(0, 2));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  int64_t batch;
  SLUICE_RETURN_IF_ERROR(c.RequireSameDim(0, 0, 1, 0, &batch));
  c.SetVector(0, batch);
  return absl::OkStatus();
}

absl::Status Bincount(InferenceContext& c) {
  c.SetVector(0, c.scalar_size(1));
  return absl::OkStatus();
}

// A vector is counted as one, a matrix row by row.
absl::Status DenseBincount(InferenceContext& c) {
  const int64_t size = c.scalar_size(1);
  if (c.rank(0) == 1) c.SetVector(0, size);
  if (c.rank(0) == 2) c.Set(0, Dims{c.dim(0, 0), size});
  return absl::OkStatus();
}

absl::Status HistogramFixedWidth(InferenceContext& c) {
  c.SetVector(0, c.scalar_size(2));
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"Bincount", &Bincount},
    {"Cumprod", &SameAsInput0},
    {"Cumsum", &SameAsInput0},
    {"CumulativeLogsumexp", &SameAsInput0},
    {"DenseBincount", &DenseBincount},
    {"DynamicPartition", &DynamicPartition},
    {"DynamicStitch", &DynamicStitch},
    {"Gather", &Gather},
    {"GatherNd", &GatherNd},
    {"GatherV2", &GatherV2},
    {"HistogramFixedWidth", &HistogramFixedWidth},
    {"InTopK", &InTopK},
    {"InTopKV2", &InTopK},
    {"ListDiff", &ListDiff},
    {"LowerBound", &SameAsInput1},
    {"NthElement", &NthElement},
    {"OneHot", &OneHot},
    {"ParallelDynamicStitch", &DynamicStitch},
    {"ResourceGather", &ResourceGather},
    {"ResourceGatherNd", &ResourceGatherNd},
    {"ScatterNd", &ScatterNd},
    {"ScatterNdNonAliasingAdd", &SameAsInput0},
    {"TensorScatterAdd", &SameAsInput0},
    {"TensorScatterMax", &SameAsInput0},
    {"TensorScatterMin", &SameAsInput0},
    {"TensorScatterSub", &SameAsInput0},
    {"TensorScatterUpdate", &SameAsInput0},
    {"TopK", &TopK},
    {"TopKV2", &TopKV2},
    {"Unique", &Unique},
    {"UniqueV2", &UniqueV2},
    {"UniqueWithCounts", &Unique},
    {"UniqueWithCountsV2", &UniqueV2},
    {"UnravelIndex", &UnravelIndex},
    {"UpperBound", &SameAsInput1},
    {"Where", &Where},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> GatherRows() { return kRows; }

}  // namespace sluice

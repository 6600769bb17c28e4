// Shapes of reductions: along axes, to an index, and by segments.

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

// The axes in input 1, in any shape; *known is false where they are not all known.
std::vector<int64_t> ReadAxes(const InferenceContext& c, bool* known) {
  const ShapeValue* value = c.value(1);
  const std::vector<int64_t> axes = value != nullptr ? value->elements : c.const_matrix(1);
  *known = value != nullptr ? value->IsKnown() : !axes.empty();
  return axes;
}

// The shape where only the number of axes may be known.
PartialShape ReducedRank(const InferenceContext& c, bool keep) {
  if (keep) return PartialShape::OfRank(c.rank(0));
  const int64_t axes = c.input(1).num_elements();  // Repeated axes are refused, so each takes away a dimension.
  return axes >= 0 && axes <= c.rank(0) ? PartialShape::OfRank(static_cast<int>(c.rank(0) - axes)) : PartialShape();
}

absl::Status Reduce(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  const bool keep = c.Bool("keep_dims");
  bool known;
  const std::vector<int64_t> axes = ReadAxes(c, &known);
  if (!known) {
    c.Set(0, ReducedRank(c, keep));
    return absl::OkStatus();
  }
  std::vector<bool> reduced(static_cast<size_t>(c.rank(0)));
  for (const int64_t stated : axes) {
    int axis;
    SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(stated, c.rank(0), 1, &axis));
    if (reduced[static_cast<size_t>(axis)]) return c.ValueError(1, absl::StrCat("axis ", stated, " is given twice"));
    reduced[static_cast<size_t>(axis)] = true;
  }
  Dims dims;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) dims.push_back(c.dim(0, static_cast<int>(i)));
    if (reduced[i] && keep) dims.push_back(1);
  }
  c.Set(0, dims);
  return absl::OkStatus();
}

// Bad axes have another code here, so the kernel says it.
absl::Status ReduceJoin(InferenceContext& c) {
  Reduce(c).IgnoreError();
  return absl::OkStatus();
}

// The axis goes away; its position is all that is left of it.
absl::Status ArgMax(InferenceContext& c) {
  if (!c.input(0).has_rank()) return absl::OkStatus();
  const int64_t stated = c.scalar(1);
  if (stated == kUnknownValue) {
    if (c.rank(0) > 0) c.Set(0, PartialShape::OfRank(c.rank(0) - 1));
    return absl::OkStatus();
  }
  int axis;
  SLUICE_RETURN_IF_ERROR(c.NormalizeAxis(stated, c.rank(0), 1, &axis));
  Dims dims = DimsOf(c.input(0));
  dims.erase(dims.begin() + axis);
  c.Set(0, dims);
  return absl::OkStatus();
}

// Rows of input 0 gathered into `rows` rows.
void SetRows(InferenceContext& c, int64_t rows) {
  if (c.rank(0) >= 1) c.Set(0, ConcatShapes(ShapeOf({rows}), SubShape(c.input(0), 1)));
}

// Segment ids are sorted; how many there are is known at run time.
absl::Status Segment(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  SLUICE_RETURN_IF_ERROR(c.RequireSameDim(0, 0, 1, 0, nullptr));
  SetRows(c, kUnknownDim);
  return absl::OkStatus();
}

// Ids cover the first dimensions of the data, which give way to one of `num_segments`.
absl::Status UnsortedSegment(InferenceContext& c) {
  if (!c.input(1).has_rank() || !c.input(0).has_rank()) return absl::OkStatus();
  const bool fits = c.rank(1) <= c.rank(0) && SubShape(c.input(0), 0, c.rank(1)).IsCompatibleWith(c.input(1));
  if (!fits) return c.MismatchError(1, "the data does not begin with the shape of the ids", c.input(1), c.input(0));
  c.Set(0, ConcatShapes(ShapeOf({c.scalar_size(2)}), SubShape(c.input(0), c.rank(1))));
  return absl::OkStatus();
}

absl::Status SparseSegment(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRank(1, 1));
  SLUICE_RETURN_IF_ERROR(c.RequireRank(2, 1));
  SLUICE_RETURN_IF_ERROR(c.RequireSameDim(1, 0, 2, 0, nullptr));
  SetRows(c, kUnknownDim);
  return absl::OkStatus();
}

// The number of rows is in input 3: num_segments, or the rows of the operand whose gradient this is.
absl::Status SparseSegmentRows(InferenceContext& c) {
  SetRows(c, c.scalar_size(3));
  return absl::OkStatus();
}

absl::Status SegmentV2(InferenceContext& c) {
  SetRows(c, c.scalar_size(2));
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"All", &Reduce},
    {"Any", &Reduce},
    {"ArgMax", &ArgMax},
    {"ArgMin", &ArgMax},
    {"EuclideanNorm", &Reduce},
    {"Max", &Reduce},
    {"Mean", &Reduce},
    {"Min", &Reduce},
    {"Prod", &Reduce},
    {"ReduceJoin", &ReduceJoin},
    {"SegmentMax", &Segment},
    {"SegmentMaxV2", &SegmentV2},
    {"SegmentMean", &Segment},
    {"SegmentMin", &Segment},
    {"SegmentMinV2", &SegmentV2},
    {"SegmentProd", &Segment},
    {"SegmentProdV2", &SegmentV2},
    {"SegmentSum", &Segment},
    {"SegmentSumV2", &SegmentV2},
    {"SparseSegmentMean", &SparseSegment},
    {"SparseSegmentMeanGrad", &SparseSegmentRows},
    {"SparseSegmentMeanWithNumSegments", &SparseSegmentRows},
    {"SparseSegmentSqrtN", &SparseSegment},
    {"SparseSegmentSqrtNGrad", &SparseSegmentRows},
    {"SparseSegmentSqrtNWithNumSegments", &SparseSegmentRows},
    {"SparseSegmentSum", &SparseSegment},
    {"SparseSegmentSumGrad", &SparseSegmentRows},
    {"SparseSegmentSumWithNumSegments", &SparseSegmentRows},
    {"Sum", &Reduce},
    {"UnsortedSegmentJoin", &UnsortedSegment},
    {"UnsortedSegmentMax", &UnsortedSegment},
    {"UnsortedSegmentMin", &UnsortedSegment},
    {"UnsortedSegmentProd", &UnsortedSegment},
    {"UnsortedSegmentSum", &UnsortedSegment},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> ReductionRows() { return kRows; }

}  // namespace sluice

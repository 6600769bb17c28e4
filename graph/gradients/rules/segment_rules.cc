// Gradients of reductions over segments, of rows that ids say.

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

// The operands of a segment op, and how its family sums and picks: sorted ids name each segment from 0 on, others may
// be negative, which drops the row.
struct Segments {
  explicit Segments(GradientContext& c) : is_sorted(c.num_inputs() == 2), ids(c.Input(1)) {
    if (!is_sorted) count = c.Input(2);
  }

  Expr Reduce(absl::string_view op, const Expr& rows) const {
    const std::string name = absl::StrCat(is_sorted ? "" : "Unsorted", op);
    return is_sorted ? AddOp(name, {rows, ids}) : AddOp(name, {rows, ids, count});
  }
  // For each row that of its segment.
  Expr Spread(const Expr& segments) const {
    return is_sorted ? Gather(segments, ids) : GatherDroppingNegatives(segments, ids);
  }

  const bool is_sorted;
  const Expr ids;
  Expr count;
};

// The results of empty segments are unused, but a second derivative would turn infinities there into NaN.
Expr AtLeastOne(const Expr& count) { return Maximum(count, Number(count, 1)); }

absl::Status SegmentSum(GradientContext& c) {
  c.SetInput(0, Segments(c).Spread(c.dy()));
  return absl::OkStatus();
}

absl::Status SegmentMean(GradientContext& c) {
  const Segments segments(c);
  const Expr dy = c.dy();
  const Expr counts = segments.Reduce("SegmentSum", Fill(ShapeOf(segments.ids), Number(dy, 1)));
  c.SetInput(0, segments.Spread(dy / AtLeastOne(AlignLeft(counts, dy))));
  return absl::OkStatus();
}

// Of Min and Max: rows that are equal to the result share.
absl::Status SegmentExtreme(GradientContext& c) {
  const Segments segments(c);
  const Expr x = c.Input(0), dy = c.dy();
  Expr is_selected = Equal(x, segments.Spread(c.Output()));
  if (!segments.is_sorted) {
    is_selected = And(is_selected, AlignLeft(GreaterEqual(segments.ids, Zero(segments.ids)), x));
  }
  const Expr num_selected = segments.Reduce("SegmentSum", Indicator(is_selected, dy.type()));
  c.SetInput(0, Where(is_selected, segments.Spread(dy / AtLeastOne(num_selected))));
  return absl::OkStatus();
}

// dy times the product of the other rows: the product divided by the row, unless the row is zero. With two zeros in a
// segment the gradient is zero.
absl::Status SegmentProd(GradientContext& c) {
  const Segments segments(c);
  const Expr x = c.Input(0), is_zero = Equal(x, Zero(x));
  const Expr num_zeros = segments.Reduce("SegmentSum", Indicator(is_zero, DType::kInt32));
  const Expr dy = Select(Greater(num_zeros, Number(num_zeros, 1)), Zero(c.dy()), c.dy());
  const Expr non_zero = Select(is_zero, Number(x, 1), x);
  const Expr others = Select(is_zero, segments.Spread(segments.Reduce("SegmentProd", non_zero)),
                             segments.Spread(c.Output()) / non_zero);
  c.SetInput(0, segments.Spread(dy) * others);
  return absl::OkStatus();
}

// --- Rows picked by indices, then reduced by sorted ids ------------------------------------------------------------

Expr FirstDim(const Expr& x) { return Element(ShapeOf(x), 0); }

absl::Status SparseSegment(GradientContext& c, absl::string_view gradient, absl::string_view sparse_gradient) {
  const Expr x = c.Input(0);
  const Exprs inputs = {c.dy(), c.Input(1), c.Input(2), FirstDim(x)};
  if (c.HasAttr("sparse_gradient") && c.Bool("sparse_gradient")) {
    const Expr rows = AddOp(sparse_gradient, inputs);
    c.SetSlices(0, rows, rows.out(1), ShapeOf(x));
  } else {
    c.SetInput(0, AddOp(gradient, inputs));
  }
  return absl::OkStatus();
}

absl::Status SparseSegmentSum(GradientContext& c) {
  return SparseSegment(c, "SparseSegmentSumGrad", "SparseSegmentSumGradV2");
}
absl::Status SparseSegmentMean(GradientContext& c) {
  return SparseSegment(c, "SparseSegmentMeanGrad", "SparseSegmentMeanGradV2");
}
absl::Status SparseSegmentSqrtN(GradientContext& c) {
  return SparseSegment(c, "SparseSegmentSqrtNGrad", "SparseSegmentSqrtNGradV2");
}

// These are linear, and so their gradients are the forward ops, with the number of segments of dy.
absl::Status Forward(GradientContext& c, absl::string_view op) {
  c.SetInput(0, AddOp(op, {c.dy(), c.Input(1), c.Input(2), FirstDim(c.Input(0))}));
  return absl::OkStatus();
}

absl::Status SparseSegmentSumGrad(GradientContext& c) { return Forward(c, "SparseSegmentSumWithNumSegments"); }
absl::Status SparseSegmentMeanGrad(GradientContext& c) { return Forward(c, "SparseSegmentMeanWithNumSegments"); }
absl::Status SparseSegmentSqrtNGrad(GradientContext& c) { return Forward(c, "SparseSegmentSqrtNWithNumSegments"); }

// The result is the mean of each segment of a row; output 1 says which one an element is in.
absl::Status IsotonicRegression(GradientContext& c) {
  const Expr dy = c.dy(0), shape = ShapeOf(dy, DType::kInt64), zero = c.Int32(0), flat = c.Int32s({-1});
  const Expr size = LastDim(shape), num_rows = Prod(SliceRange(shape, 0, -1), zero);
  const Expr count = SizeOf(dy, DType::kInt64);
  const Expr in_row = Reshape(Cast(c.Output(1), DType::kInt64), Pack({num_rows, size}));
  const Expr ids = Reshape(in_row + ExpandDims(Iota(num_rows) * size, 1), flat);
  const Expr sums = UnsortedSegmentSum(Reshape(dy, flat), ids, count);
  const Expr sizes = UnsortedSegmentSum(Fill(AsVector(count), Number(dy, 1)), ids, count);
  c.SetInput(0, Cast(Reshape(Gather(sums / AtLeastOne(sizes), ids), shape), c.input_type(0)));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"IsotonicRegression", &IsotonicRegression},
    {"SegmentMax", &SegmentExtreme},
    {"SegmentMean", &SegmentMean},
    {"SegmentMin", &SegmentExtreme},
    {"SegmentProd", &SegmentProd},
    {"SegmentSum", &SegmentSum},
    {"SparseSegmentMean", &SparseSegmentMean},
    {"SparseSegmentMeanGrad", &SparseSegmentMeanGrad},
    {"SparseSegmentMeanWithNumSegments", &SparseSegmentMean},
    {"SparseSegmentSqrtN", &SparseSegmentSqrtN},
    {"SparseSegmentSqrtNGrad", &SparseSegmentSqrtNGrad},
    {"SparseSegmentSqrtNWithNumSegments", &SparseSegmentSqrtN},
    {"SparseSegmentSum", &SparseSegmentSum},
    {"SparseSegmentSumGrad", &SparseSegmentSumGrad},
    {"SparseSegmentSumWithNumSegments", &SparseSegmentSum},
    {"UnsortedSegmentMax", &SegmentExtreme},
    {"UnsortedSegmentMin", &SegmentExtreme},
    {"UnsortedSegmentProd", &SegmentProd},
    {"UnsortedSegmentSum", &SegmentSum},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> SegmentGradients() { return kRows; }

}  // namespace sluice

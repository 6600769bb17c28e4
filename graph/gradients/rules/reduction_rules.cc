// Gradients of reductions and running reductions.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"
#include "graph/value/shape.h"

namespace sluice {
namespace {

absl::Status SumOf(GradientContext& c) {
  c.SetInput(0, BroadcastTo(WithKeptAxes(c, c.dy()), ShapeOf(c.Input(0))));
  return absl::OkStatus();
}

absl::Status MeanOf(GradientContext& c) {
  const PartialShape in = c.InputShape(0), out = c.OutputShape(0);
  const Expr dy = c.dy();
  Expr count;  // Elements of each mean.
  const int64_t size = in.num_elements(), num_means = out.num_elements();
  if (size >= 0 && num_means >= 0) {
    count = Number(dy, static_cast<double>(size / std::max<int64_t>(num_means, 1)));
  } else {
    const Expr size_of_x = SizeOf(c.Input(0), DType::kInt64), size_of_dy = SizeOf(dy, DType::kInt64);
    count = Cast(FloorDiv(size_of_x, Maximum(size_of_dy, c.Int64(1))), dy.type());
  }
  c.SetInput(0, BroadcastTo(WithKeptAxes(c, dy) / count, ShapeOf(c.Input(0))));
  return absl::OkStatus();
}

// Elements that are equal to the result share.
absl::Status Extreme(GradientContext& c) {
  const Expr dy = WithKeptAxes(c, c.dy()), y = WithKeptAxes(c, c.Output());
  const Expr is_selected = Indicator(Equal(y, c.Input(0)), c.output_type(0));
  c.SetInput(0, is_selected / Sum(is_selected, c.Input(1), true) * dy);
  return absl::OkStatus();
}

Expr Running(absl::string_view op, const Expr& x, const Expr& axis, bool exclusive, bool reverse) {
  return AddOp(op, {x, axis}, {{"exclusive", AttrValue(exclusive)}, {"reverse", AttrValue(reverse)}});
}

// dy times the product of all other elements: those before times those after, along one axis that holds all reduced
// ones.
absl::Status ProdOf(GradientContext& c) {
  const Expr x = c.Input(0), shape = ShapeOf(x), rank = SizeOf(shape), zero = c.Int32(0), flat = c.Int32s({-1});
  const Expr reduced = FloorMod(Reshape(Cast(c.Input(1), DType::kInt32), flat) + rank, rank);
  const Expr kept = AddOp("ListDiff", {Iota(rank), reduced});
  const Expr permutation = Concat({reduced, kept}, 0);
  const Expr permuted = Transpose(Conj(x), permutation), permuted_shape = ShapeOf(permuted);
  const Expr table = Reshape(permuted, Pack({Prod(Gather(shape, reduced), zero), Prod(Gather(shape, kept), zero)}));
  const Expr others = Running("Cumprod", table, zero, true, false) * Running("Cumprod", table, zero, true, true);
  const Expr dx = Transpose(Reshape(others, permuted_shape), InvertPermutation(permutation));
  c.SetInput(0, WithKeptAxes(c, c.dy()) * dx);
  return absl::OkStatus();
}

absl::Status EuclideanNorm(GradientContext& c) {
  const Expr dy = WithKeptAxes(c, c.dy()), y = WithKeptAxes(c, c.Output());
  c.SetInput(0, c.Input(0) / (y / dy));
  return absl::OkStatus();
}

absl::Status L2Loss(GradientContext& c) {
  c.SetInput(0, c.Input(0) * c.dy());
  return absl::OkStatus();
}

absl::Status Cumsum(GradientContext& c) {
  c.SetInput(0, Running("Cumsum", c.dy(), c.Input(1), c.Bool("exclusive"), !c.Bool("reverse")));
  return absl::OkStatus();
}

absl::Status Cumprod(GradientContext& c) {
  const bool exclusive = c.Bool("exclusive"), reverse = c.Bool("reverse");
  const Expr x = Conj(c.Input(0)), axis = c.Input(1);
  const Expr product = Running("Cumprod", x, axis, exclusive, reverse);
  c.SetInput(0, DivNoNan(Running("Cumsum", product * c.dy(), axis, exclusive, !reverse), x));
  return absl::OkStatus();
}

double Lowest(DType type) {
  switch (type) {
    case DType::kDouble:
      return std::numeric_limits<double>::lowest();
    case DType::kHalf:
      return -65504;
    case DType::kBFloat16:
      return -3.3895313892515355e38;
    default:
      return std::numeric_limits<float>::lowest();
  }
}

// Works on logarithms of the positive and negative parts of dy, so that nothing overflows.
absl::Status CumulativeLogsumexp(GradientContext& c) {
  const Expr x = c.Input(0), y = c.Output(), dy = c.dy(), axis = c.Input(1);
  const Expr zero = Zero(dy), none = Number(dy, Lowest(dy.type())), one = Number(dy, 1);
  const bool exclusive = c.Bool("exclusive"), reverse = c.Bool("reverse");
  const auto part = [&](const Expr& is_part, const Expr& size) {
    // Take the logarithm of 1 outside of the part: the derivative there would be NaN.
    const Expr log = Select(is_part, Log(Select(is_part, size, one)), none);
    return Exp(Running("CumulativeLogsumexp", log - y, axis, exclusive, !reverse) + x);
  };
  c.SetInput(0, part(Greater(dy, zero), dy) - part(Less(dy, zero), -dy));
  return absl::OkStatus();
}

// --- Bias: a vector that is added along one dimension ----------------------------------------------------------------

absl::Status BiasAdd(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, c.DyAsIs());
  if (c.Wants(1)) c.SetInput(1, AddOp("BiasAddGrad", {c.dy()}, c.CopyAttrs({"data_format"})));
  return absl::OkStatus();
}

absl::Status BiasAddV1(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, c.DyAsIs());
  if (c.Wants(1)) c.SetInput(1, AddOp("BiasAddGrad", {c.dy()}));
  return absl::OkStatus();
}

absl::Status BiasAddGrad(GradientContext& c) {
  Expr dy = c.dy();
  const Expr shape = ShapeOf(c.Input(0));
  if (c.String("data_format") == "NCHW") {
    const Expr ones = Fill(AsVector(SizeOf(shape) - c.Int32(2)), c.Int32(1));
    dy = Reshape(dy, Concat({c.Int32s({-1}), ones}, 0));
  }
  c.SetInput(0, BroadcastTo(dy, shape));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"BiasAdd", &BiasAdd},
    {"BiasAddGrad", &BiasAddGrad},
    {"BiasAddV1", &BiasAddV1},
    {"Cumprod", &Cumprod},
    {"Cumsum", &Cumsum},
    {"CumulativeLogsumexp", &CumulativeLogsumexp},
    {"EuclideanNorm", &EuclideanNorm},
    {"L2Loss", &L2Loss},
    {"Max", &Extreme},
    {"Mean", &MeanOf},
    {"Min", &Extreme},
    {"Prod", &ProdOf},
    {"Sum", &SumOf},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> ReductionGradients() { return kRows; }

}  // namespace sluice

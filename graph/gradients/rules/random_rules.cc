// Gradients of random values whose distribution has parameters: by implicit differentiation (Figurnov et al. 2018).
// Samples of distributions without parameters, and integers, have no gradient: graph/ops/op_traits.txt.

#include <limits>

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

// dy and the sample have `num_more` dimensions in front of those of alpha.
Expr GammaAlpha(GradientContext& c, const Expr& alpha, const Expr& num_more) {
  const Expr ones = Fill(AsVector(num_more), c.Int32(1));
  const Expr spread = Reshape(alpha, Concat({ones, ShapeOf(alpha)}, 0));
  return Sum(c.dy() * AddOp("RandomGammaGrad", {spread, c.Output()}), Iota(num_more));
}

// The shape is that in front of alpha's.
absl::Status RandomGamma(GradientContext& c) {
  c.SetInput(1, GammaAlpha(c, c.Input(1), SizeOf(c.Input(0))));
  return absl::OkStatus();
}

// The shape is that of the whole sample; input `i` is alpha.
template <int i>
absl::Status StatelessGamma(GradientContext& c) {
  const Expr alpha = c.Input(i);
  c.SetInput(i, GammaAlpha(c, alpha, SizeOf(c.Input(0)) - RankOf(alpha)));
  return absl::OkStatus();
}

// The probability that a standard normal value is below x.
Expr NormalCdf(const Expr& x) {
  const Expr z = x * 0.70710678118654752440;
  const Expr tail = AddOp("Erfc", {Abs(z)});  // Exact where it is small.
  return 0.5 * Select(Less(Abs(z), Number(z, 0.70710678118654752440)), 1.0 + AddOp("Erf", {z}),
                      Select(Greater(z, Zero(z)), 2.0 - tail, tail));
}

// Inputs 2 to 5 are mean, stddev, and the bounds.
absl::Status TruncatedNormal(GradientContext& c) {
  const Expr mean = c.Input(2), stddev = c.Input(3), dy = c.dy();
  const Expr x = (c.Output() - mean) / stddev;
  if (c.Wants(2)) c.SetInput(2, c.SumToShapeOf(mean, dy, dy));
  if (c.Wants(3)) c.SetInput(3, c.SumToShapeOf(stddev, dy, dy * x));
  if (!c.WantsAny(4, 6)) return absl::OkStatus();
  const Expr low = (c.Input(4) - mean) / stddev, high = (c.Input(5) - mean) / stddev;
  const Expr below = NormalCdf(low);
  const bool is_double = dy.type() == DType::kDouble;
  // Logarithms of it and of the rest stay finite.
  const Expr tiny = Number(x, is_double ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min());
  const Expr nearly_one = Number(
      x, 1 - (is_double ? std::numeric_limits<double>::epsilon() : double{std::numeric_limits<float>::epsilon()}));
  const Expr part = Minimum(Maximum((NormalCdf(x) - below) / (NormalCdf(high) - below), tiny), nearly_one);
  if (c.Wants(4)) {
    const Expr dx = dy * Exp(0.5 * (Square(x) - Square(low)) + Log1p(-part));
    c.SetInput(4, c.SumToShapeOf(c.Input(4), dx, dx));
  }
  if (c.Wants(5)) {
    const Expr dx = dy * Exp(0.5 * (Square(x) - Square(high)) + Log(part));
    c.SetInput(5, c.SumToShapeOf(c.Input(5), dx, dx));
  }
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"RandomGamma", &RandomGamma},
    {"StatelessParameterizedTruncatedNormal", &TruncatedNormal},
    {"StatelessRandomGammaV2", &StatelessGamma<2>},
    {"StatelessRandomGammaV3", &StatelessGamma<4>},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> RandomGradients() { return kRows; }

}  // namespace sluice

// Gradients of normalizations.

#include <vector>

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

absl::Status Lrn(GradientContext& c) {
  c.SetInput(
      0, AddOp("LRNGrad", {c.dy(), c.Input(0), c.Output()}, c.CopyAttrs({"depth_radius", "bias", "alpha", "beta"})));
  return absl::OkStatus();
}

absl::Status GlobalNormalization(GradientContext& c) {
  const Expr grads =
      AddOp("BatchNormWithGlobalNormalizationGrad", {c.Input(0), c.Input(1), c.Input(2), c.Input(4), c.dy()},
            c.CopyAttrs({"variance_epsilon", "scale_after_normalization"}));
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.Wants(i)) c.SetInput(i, grads.out(i));
  }
  return absl::OkStatus();
}

// --- FusedBatchNorm --------------------------------------------------------------------------------------------------

bool ChannelsFirst(const GradientContext& c) {
  const absl::string_view format = c.String("data_format");
  return format == "NCHW" || format == "NCDHW";
}
bool IsVolume(const GradientContext& c) { return c.String("data_format").size() == 5; }

// x between the two orders of dimensions.
Expr ToChannelsLast(const GradientContext& c, const Expr& x) {
  return IsVolume(c) ? Transpose(x, {0, 2, 3, 4, 1}) : Transpose(x, {0, 2, 3, 1});
}
Expr ToChannelsFirst(const GradientContext& c, const Expr& x) {
  return IsVolume(c) ? Transpose(x, {0, 4, 1, 2, 3}) : Transpose(x, {0, 3, 1, 2});
}

// Gradients that come through the statistics of the batch do not count, as in TensorFlow. Statistics that are given
// take part as constants; the kernel for these knows channels last only.
absl::Status FusedBatchNorm(GradientContext& c, absl::string_view gradient) {
  const bool is_training = c.Bool("is_training"), move = !is_training && ChannelsFirst(c);
  const Expr dy = move ? ToChannelsLast(c, c.dy()) : c.dy();
  const Expr x = move ? ToChannelsLast(c, c.Input(0)) : c.Input(0);
  Exprs inputs = {dy, x, c.Input(1), is_training ? c.Output(3) : c.Input(3), is_training ? c.Output(4) : c.Input(4)};
  if (c.num_outputs() > 5) inputs.push_back(c.Output(5));
  EmitAttrs attrs = c.CopyAttrs({"epsilon", "is_training"});
  const absl::string_view last = IsVolume(c) ? "NDHWC" : "NHWC";
  attrs.push_back({"data_format", AttrValue(move ? last : c.String("data_format"))});
  const Expr grads = AddOp(gradient, inputs, attrs);
  if (c.Wants(0)) c.SetInput(0, move ? ToChannelsFirst(c, grads) : grads);
  if (c.Wants(1)) c.SetInput(1, grads.out(1));
  if (c.Wants(2)) c.SetInput(2, grads.out(2));
  return absl::OkStatus();
}
absl::Status FusedBatchNormV1(GradientContext& c) { return FusedBatchNorm(c, "FusedBatchNormGrad"); }
absl::Status FusedBatchNormV2(GradientContext& c) { return FusedBatchNorm(c, "FusedBatchNormGradV2"); }
absl::Status FusedBatchNormV3(GradientContext& c) { return FusedBatchNorm(c, "FusedBatchNormGradV3"); }

// For the second derivative: the axes of a channel, and the shape in which per-channel values broadcast with x.
struct Channels {
  explicit Channels(const GradientContext& c) : first(ChannelsFirst(c)), rank(IsVolume(c) ? 5 : 4) {
    for (int i = 0; i < rank; ++i) {
      if (i != (first ? 1 : rank - 1)) axes.push_back(i);
    }
  }
  Expr Wide(const Expr& of_channel) const {
    if (!first) return of_channel;
    std::vector<int64_t> shape(static_cast<size_t>(rank - 1), 1);
    shape[0] = -1;
    return Reshape(of_channel, Int32s(of_channel, shape));
  }
  Expr MeanOf(const Expr& x) const { return Mean(x, Int32s(x, axes), true); }
  Expr SumOf(const Expr& x) const { return Sum(x, axes, false); }

  const bool first;
  const int rank;
  std::vector<int64_t> axes;
};

// With statistics that are given: dx = dy s r, ds = sum(dy (x - m) r), do = sum(dy).
void FixedStatistics(GradientContext& c, const Channels& channels, const Expr& dy, const Expr& x, const Exprs& g) {
  const Expr scale = channels.Wide(c.Input(2)), mean = channels.Wide(c.Input(3));
  const Expr r = Rsqrt(channels.Wide(c.Input(4)) + static_cast<double>(c.Float("epsilon")));
  const Expr by_scale = channels.Wide(g[1]) * r;
  if (c.Wants(0)) {
    c.SetInput(0, Cast(g[0] * scale * r + by_scale * (x - mean) + channels.Wide(g[2]), c.input_type(0)));
  }
  if (c.Wants(1)) c.SetInput(1, Cast(by_scale * dy, c.input_type(1)));
  if (c.Wants(2)) c.SetInput(2, channels.SumOf(g[0] * dy * r));
}

// With those of the batch. n = (x - mean) r is x normalized, and P(v) = v - mean(v) - n mean(n v) its projection:
//   dx = s r P(dy), ds = sum(dy n), do = sum(dy).
// For gradients a, b, c of these three, and h = b dy - s r (a mean(dy n) + dy mean(a n)), which is what arrives at n:
//   of dy: s r P(a) + b n + c
//   of s:  r sum(a P(dy))
//   of x:  r P(h) - s r^2 mean(a P(dy)) n
void BatchStatistics(GradientContext& c, const Channels& channels, const Expr& dy, const Expr& x, const Exprs& g) {
  const auto mean = [&](const Expr& v) { return channels.MeanOf(v); };
  const Expr offset = x - mean(x);
  const Expr r = Rsqrt(mean(Square(offset)) + static_cast<double>(c.Float("epsilon")));
  const Expr n = offset * r;
  const auto project = [&](const Expr& v) { return v - mean(v) - n * mean(n * v); };
  const Expr a = g[0], b = channels.Wide(g[1]), scaled = channels.Wide(c.Input(2)) * r;
  if (c.Wants(0)) c.SetInput(0, Cast(scaled * project(a) + b * n + channels.Wide(g[2]), c.input_type(0)));
  if (!c.WantsAny(1, 3)) return;
  const Expr along = a * project(dy);
  if (c.Wants(1)) {
    const Expr h = b * dy - scaled * (a * mean(dy * n) + dy * mean(a * n));
    c.SetInput(1, Cast(r * project(h) - scaled * r * mean(along) * n, c.input_type(1)));
  }
  if (c.Wants(2)) c.SetInput(2, channels.SumOf(r * along));
}

// (dy, x, scale, statistics...) -> (dx, dscale, doffset, ...). The batch's statistics are computed again from x.
absl::Status FusedBatchNormGrad(GradientContext& c) {
  const Channels channels(c);
  const DType type = c.input_type(2);  // The type of scale; x may be half.
  const Expr dy = Cast(c.Input(0), type), x = Cast(c.Input(1), type);
  const Exprs g = {Cast(c.dy(0), type), c.dy(1), c.dy(2)};
  if (c.Bool("is_training")) {
    BatchStatistics(c, channels, dy, x, g);
  } else {
    FixedStatistics(c, channels, dy, x, g);
  }
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"BatchNormWithGlobalNormalization", &GlobalNormalization},
    {"FusedBatchNorm", &FusedBatchNormV1},
    {"FusedBatchNormGrad", &FusedBatchNormGrad},
    {"FusedBatchNormGradV2", &FusedBatchNormGrad},
    {"FusedBatchNormGradV3", &FusedBatchNormGrad},
    {"FusedBatchNormV2", &FusedBatchNormV2},
    {"FusedBatchNormV3", &FusedBatchNormV3},
    {"LRN", &Lrn},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> NormalizationGradients() { return kRows; }

}  // namespace sluice

// Gradients of rounding to the levels of a quantized type: that of no rounding, inside of the range.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

absl::Status FakeQuantArgs(GradientContext& c) {
  c.SetInput(0, AddOp("FakeQuantWithMinMaxArgsGradient", {c.dy(), c.Input(0)},
                      c.CopyAttrs({"min", "max", "num_bits", "narrow_range"})));
  return absl::OkStatus();
}

// (x, min, max): one op gives the gradients of all three.
absl::Status OfRange(GradientContext& c, absl::string_view gradient, const EmitAttrs& attrs) {
  const Expr grads = AddOp(gradient, {c.dy(), c.Input(0), c.Input(1), c.Input(2)}, attrs);
  for (int i = 0; i < 3; ++i) {
    if (c.Wants(i)) c.SetInput(i, grads.out(i));
  }
  return absl::OkStatus();
}

absl::Status FakeQuantVars(GradientContext& c) {
  return OfRange(c, "FakeQuantWithMinMaxVarsGradient", c.CopyAttrs({"num_bits", "narrow_range"}));
}

absl::Status FakeQuantPerChannel(GradientContext& c) {
  return OfRange(c, "FakeQuantWithMinMaxVarsPerChannelGradient", c.CopyAttrs({"num_bits", "narrow_range"}));
}

// Passes dy on, even outside of the range; the range gets no gradient.
absl::Status StraightThrough(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, c.DyAsIs());
  return absl::OkStatus();
}

absl::Status QuantizeV4(GradientContext& c) { return OfRange(c, "QuantizeAndDequantizeV4Grad", c.CopyAttrs({"axis"})); }

constexpr GradientRow kRows[] = {
    {"FakeQuantWithMinMaxArgs", &FakeQuantArgs},
    {"FakeQuantWithMinMaxVars", &FakeQuantVars},
    {"FakeQuantWithMinMaxVarsPerChannel", &FakeQuantPerChannel},
    {"QuantizeAndDequantize", &StraightThrough},
    {"QuantizeAndDequantizeV2", &StraightThrough},
    {"QuantizeAndDequantizeV3", &StraightThrough},
    {"QuantizeAndDequantizeV4", &QuantizeV4},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> QuantizedGradients() { return kRows; }

}  // namespace sluice

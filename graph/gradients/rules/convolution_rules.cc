// Gradients of convolutions. Each kind has three ops, all linear in two of their operands: the convolution itself
// (input, filter), the gradient of its input (filter, dy) and that of its filter (input, dy). So the gradients of each
// are the two others.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

struct Kind {
  absl::string_view forward, to_input, to_filter;
};
constexpr Kind k2D = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
constexpr Kind k3D = {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"};
constexpr Kind kDepthwise = {"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
                             "DepthwiseConv2dNativeBackpropFilter"};

// The attrs that the ops of a kind share.
EmitAttrs Attrs(const GradientContext& c) {
  return c.CopyAttrs({"strides", "padding", "explicit_paddings", "dilations", "data_format", "use_cudnn_on_gpu"});
}

// (input, filter) -> y
template <const Kind& kind>
absl::Status Convolution(GradientContext& c) {
  const Expr dy = c.dy();
  if (c.Wants(0)) c.SetInput(0, AddOp(kind.to_input, {ShapeOf(c.Input(0)), c.Input(1), dy}, Attrs(c)));
  if (c.Wants(1)) c.SetInput(1, AddOp(kind.to_filter, {c.Input(0), ShapeOf(c.Input(1)), dy}, Attrs(c)));
  return absl::OkStatus();
}

// (shape of the input, filter, dy) -> gradient of the input
template <const Kind& kind>
absl::Status BackpropInput(GradientContext& c) {
  const Expr g = c.dy();
  if (c.Wants(1)) c.SetInput(1, AddOp(kind.to_filter, {g, ShapeOf(c.Input(1)), c.Input(2)}, Attrs(c)));
  if (c.Wants(2)) c.SetInput(2, AddOp(kind.forward, {g, c.Input(1)}, Attrs(c)));
  return absl::OkStatus();
}

// (input, shape of the filter, dy) -> gradient of the filter
template <const Kind& kind>
absl::Status BackpropFilter(GradientContext& c) {
  const Expr g = c.dy();
  if (c.Wants(0)) c.SetInput(0, AddOp(kind.to_input, {ShapeOf(c.Input(0)), g, c.Input(2)}, Attrs(c)));
  if (c.Wants(2)) c.SetInput(2, AddOp(kind.forward, {c.Input(0), g}, Attrs(c)));
  return absl::OkStatus();
}

// The first versions of the ops in three dimensions, which take the tensors themselves for their shapes.
absl::Status BackpropInput3D(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, ZerosLike(c.Input(0)));
  return BackpropInput<k3D>(c);
}
absl::Status BackpropFilter3D(GradientContext& c) {
  if (c.Wants(1)) c.SetInput(1, ZerosLike(c.Input(1)));
  return BackpropFilter<k3D>(c);
}

// Morphological: the maximum over the window, which is not linear, and has no second derivative here.
absl::Status Dilation2D(GradientContext& c) {
  const Exprs inputs = {c.Input(0), c.Input(1), c.dy()};
  const EmitAttrs attrs = c.CopyAttrs({"strides", "rates", "padding"});
  if (c.Wants(0)) c.SetInput(0, AddOp("Dilation2DBackpropInput", inputs, attrs));
  if (c.Wants(1)) c.SetInput(1, AddOp("Dilation2DBackpropFilter", inputs, attrs));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"Conv2D", &Convolution<k2D>},
    {"Conv2DBackpropFilter", &BackpropFilter<k2D>},
    {"Conv2DBackpropInput", &BackpropInput<k2D>},
    {"Conv3D", &Convolution<k3D>},
    {"Conv3DBackpropFilter", &BackpropFilter3D},
    {"Conv3DBackpropFilterV2", &BackpropFilter<k3D>},
    {"Conv3DBackpropInput", &BackpropInput3D},
    {"Conv3DBackpropInputV2", &BackpropInput<k3D>},
    {"DepthwiseConv2dNative", &Convolution<kDepthwise>},
    {"DepthwiseConv2dNativeBackpropFilter", &BackpropFilter<kDepthwise>},
    {"DepthwiseConv2dNativeBackpropInput", &BackpropInput<kDepthwise>},
    {"Dilation2D", &Dilation2D},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> ConvolutionGradients() { return kRows; }

}  // namespace sluice

// Gradients of pooling.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

// Copies those of the window's attrs that the node has.
EmitAttrs Window(const GradientContext& c) { return c.CopyAttrs({"ksize", "strides", "padding", "data_format"}); }

// --- Averages: linear, so that the gradient of the gradient is the op itself -------------------------------------

absl::Status Average(GradientContext& c, absl::string_view gradient) {
  c.SetInput(0, AddOp(gradient, {ShapeOf(c.Input(0)), c.dy()}, Window(c)));
  return absl::OkStatus();
}
absl::Status AvgPool(GradientContext& c) { return Average(c, "AvgPoolGrad"); }
absl::Status AvgPool3D(GradientContext& c) { return Average(c, "AvgPool3DGrad"); }

absl::Status AverageAgain(GradientContext& c, absl::string_view forward) {
  c.SetInput(1, AddOp(forward, {c.dy()}, Window(c)));
  return absl::OkStatus();
}
absl::Status AvgPoolGrad(GradientContext& c) { return AverageAgain(c, "AvgPool"); }
absl::Status AvgPool3DGrad(GradientContext& c) { return AverageAgain(c, "AvgPool3D"); }

absl::Status FractionalAvgPool(GradientContext& c) {
  c.SetInput(0, AddOp("FractionalAvgPoolGrad", {ShapeOf(c.Input(0), DType::kInt64), c.dy(), c.Output(1), c.Output(2)},
                      c.CopyAttrs({"overlapping"})));
  return absl::OkStatus();
}

// --- Maxima: linear in dy, the rest only says where they are -----------------------------------------------------

absl::Status MaxPool(GradientContext& c) {
  EmitAttrs attrs = Window(c);
  if (c.String("padding") == "EXPLICIT")
    attrs = c.CopyAttrs({"ksize", "strides", "padding", "data_format", "explicit_paddings"});
  c.SetInput(0, AddOp("MaxPoolGrad", {c.Input(0), c.Output(), c.dy()}, attrs));
  return absl::OkStatus();
}

absl::Status MaxPool3D(GradientContext& c) {
  c.SetInput(0, AddOp("MaxPool3DGrad", {c.Input(0), c.Output(), c.dy()}, Window(c)));
  return absl::OkStatus();
}

// Window and strides are inputs.
absl::Status MaxPoolV2(GradientContext& c) {
  c.SetInput(0, AddOp("MaxPoolGradV2", {c.Input(0), c.Output(), c.dy(), c.Input(1), c.Input(2)}, Window(c)));
  return absl::OkStatus();
}

absl::Status MaxPoolWithArgmax(GradientContext& c) {
  c.SetInput(0, AddOp("MaxPoolGradWithArgmax", {c.Input(0), c.dy(), c.Output(1)},
                      c.CopyAttrs({"ksize", "strides", "padding", "include_batch_in_index"})));
  return absl::OkStatus();
}

absl::Status FractionalMaxPool(GradientContext& c) {
  c.SetInput(0, AddOp("FractionalMaxPoolGrad", {c.Input(0), c.Output(), c.dy(), c.Output(1), c.Output(2)},
                      c.CopyAttrs({"overlapping"})));
  return absl::OkStatus();
}

// Of an op (x, y, dy, ...): `other` moves what belongs to dy the other way.
absl::Status Again(GradientContext& c, absl::string_view other) {
  for (int i = 0; i < 2; ++i) {
    if (c.Wants(i)) c.SetInput(i, ZerosLike(c.Input(i)));
  }
  if (c.Wants(2)) {
    Exprs inputs = c.Inputs(0, c.num_inputs());
    inputs[2] = c.dy();
    c.SetInput(2, AddOp(other, inputs, Window(c)));
  }
  return absl::OkStatus();
}
absl::Status MaxPoolGrad(GradientContext& c) { return Again(c, "MaxPoolGradGrad"); }
absl::Status MaxPoolGradGrad(GradientContext& c) { return Again(c, "MaxPoolGrad"); }
absl::Status MaxPoolGradV2(GradientContext& c) { return Again(c, "MaxPoolGradGradV2"); }
absl::Status MaxPoolGradGradV2(GradientContext& c) { return Again(c, "MaxPoolGradV2"); }
absl::Status MaxPool3DGrad(GradientContext& c) { return Again(c, "MaxPool3DGradGrad"); }
absl::Status MaxPool3DGradGrad(GradientContext& c) { return Again(c, "MaxPool3DGrad"); }

// Of an op (x, dy, argmax).
absl::Status ArgmaxAgain(GradientContext& c, absl::string_view other) {
  if (c.Wants(0)) c.SetInput(0, ZerosLike(c.Input(0)));
  if (c.Wants(1)) {
    c.SetInput(1, AddOp(other, {c.Input(0), c.dy(), c.Input(2)},
                        c.CopyAttrs({"ksize", "strides", "padding", "include_batch_in_index"})));
  }
  return absl::OkStatus();
}
absl::Status MaxPoolGradWithArgmax(GradientContext& c) { return ArgmaxAgain(c, "MaxPoolGradGradWithArgmax"); }
absl::Status MaxPoolGradGradWithArgmax(GradientContext& c) { return ArgmaxAgain(c, "MaxPoolGradWithArgmax"); }

constexpr GradientRow kRows[] = {
    {"AvgPool", &AvgPool},
    {"AvgPool3D", &AvgPool3D},
    {"AvgPool3DGrad", &AvgPool3DGrad},
    {"AvgPoolGrad", &AvgPoolGrad},
    {"FractionalAvgPool", &FractionalAvgPool},
    {"FractionalMaxPool", &FractionalMaxPool},
    {"MaxPool", &MaxPool},
    {"MaxPool3D", &MaxPool3D},
    {"MaxPool3DGrad", &MaxPool3DGrad},
    {"MaxPool3DGradGrad", &MaxPool3DGradGrad},
    {"MaxPoolGrad", &MaxPoolGrad},
    {"MaxPoolGradGrad", &MaxPoolGradGrad},
    {"MaxPoolGradGradV2", &MaxPoolGradGradV2},
    {"MaxPoolGradGradWithArgmax", &MaxPoolGradGradWithArgmax},
    {"MaxPoolGradV2", &MaxPoolGradV2},
    {"MaxPoolGradWithArgmax", &MaxPoolGradWithArgmax},
    {"MaxPoolV2", &MaxPoolV2},
    {"MaxPoolWithArgmax", &MaxPoolWithArgmax},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> PoolingGradients() { return kRows; }

}  // namespace sluice

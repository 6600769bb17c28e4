// Gradients of ops on images.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

EmitAttrs ResizeAttrs(const GradientContext& c) { return c.CopyAttrs({"align_corners", "half_pixel_centers"}); }
// Height and width of images.
Expr ImageSize(const Expr& images) { return SliceRange(ShapeOf(images), 1, 3); }

// `gradient` takes dy and the images themselves, whose size and type it needs.
absl::Status Resize(GradientContext& c, absl::string_view gradient) {
  c.SetInput(0, AddOp(gradient, {c.dy(), c.Input(0)}, ResizeAttrs(c)));
  return absl::OkStatus();
}
absl::Status ResizeBilinear(GradientContext& c) { return Resize(c, "ResizeBilinearGrad"); }

absl::Status ResizeBicubic(GradientContext& c) {
  const DType type = c.input_type(0);
  // The kernel supports no others.
  if (type != DType::kFloat && type != DType::kDouble) return absl::OkStatus();
  return Resize(c, "ResizeBicubicGrad");
}

absl::Status ResizeNearestNeighbor(GradientContext& c) {
  c.SetInput(0, AddOp("ResizeNearestNeighborGrad", {c.dy(), ImageSize(c.Input(0))}, ResizeAttrs(c)));
  return absl::OkStatus();
}

// Resizing is linear in the images: the gradient of its gradient is the op itself, to the size of dy (input 0). The
// images, where they are input 1, only give type and size.
absl::Status ResizeAgain(GradientContext& c, absl::string_view forward) {
  const Expr resized = AddOp(forward, {c.dy(), ImageSize(c.Input(0))}, ResizeAttrs(c));
  if (c.Wants(0)) c.SetInput(0, Cast(resized, c.input_type(0)));
  if (c.Wants(1)) c.SetInput(1, ZerosLike(c.Input(1)));
  return absl::OkStatus();
}
absl::Status ResizeBicubicGrad(GradientContext& c) { return ResizeAgain(c, "ResizeBicubic"); }
absl::Status ResizeBilinearGrad(GradientContext& c) { return ResizeAgain(c, "ResizeBilinear"); }
absl::Status ResizeNearestNeighborGrad(GradientContext& c) { return ResizeAgain(c, "ResizeNearestNeighbor"); }

absl::Status ScaleAndTranslate(GradientContext& c) {
  if (!c.Wants(0)) return absl::OkStatus();  // Scale and translation get no gradient.
  c.SetInput(0, AddOp("ScaleAndTranslateGrad", {c.dy(), c.Input(0), c.Input(2), c.Input(3)},
                      c.CopyAttrs({"kernel_type", "antialias"})));
  return absl::OkStatus();
}

absl::Status ScaleAndTranslateGrad(GradientContext& c) {
  if (c.Wants(0)) {
    c.SetInput(0, AddOp("ScaleAndTranslate", {c.dy(), ImageSize(c.Input(0)), c.Input(2), c.Input(3)},
                        c.CopyAttrs({"kernel_type", "antialias"})));
  }
  if (c.Wants(1)) c.SetInput(1, ZerosLike(c.Input(1)));
  return absl::OkStatus();
}

absl::Status CropAndResize(GradientContext& c) {
  const Expr dy = c.dy(), images = c.Input(0), boxes = c.Input(1), box_index = c.Input(2);
  if (c.Wants(0)) {
    EmitAttrs attrs = c.CopyAttrs({"method"});
    attrs.push_back({"T", AttrValue(c.input_type(0))});
    c.SetInput(0, AddOp("CropAndResizeGradImage", {dy, boxes, box_index, ShapeOf(images)}, attrs));
  }
  // The kernel assumes bilinear sampling, as in TensorFlow.
  if (c.Wants(1)) c.SetInput(1, AddOp("CropAndResizeGradBoxes", {dy, images, boxes, box_index}));
  return absl::OkStatus();
}

// Linear in dy; the boxes have no second derivative here.
absl::Status CropAndResizeGradImage(GradientContext& c) {
  if (c.Wants(1)) return c.Refuse("it has no gradient with respect to the boxes");
  EmitAttrs attrs = c.CopyAttrs({"method"});
  c.SetInput(0, AddOp("CropAndResize", {c.dy(), c.Input(1), c.Input(2), ImageSize(c.Input(0))}, attrs));
  return absl::OkStatus();
}

// --- Colors ----------------------------------------------------------------------------------------------------------

// With v the largest channel, m the smallest and d = v - m: s = d / v, h = (k + n / d) / 6, where k and n depend on
// which one is the largest: n is the difference of the two others. Where channels are equal, the first largest one and
// the last smallest one count; where a divisor is zero, so is the gradient.
absl::Status RgbToHsv(GradientContext& c) {
  const auto channels = [](const Expr& x) {
    const Expr all = AddOp("Unpack", {x}, {{"num", AttrValue(int64_t{3})}, {"axis", AttrValue(int64_t{-1})}});
    return Exprs{all, all.out(1), all.out(2)};
  };
  const Exprs rgb = channels(c.Input(0)), dy = channels(c.dy());
  const Expr &r = rgb[0], &g = rgb[1], &b = rgb[2];
  const auto mask = [&](const Expr& condition) { return Indicator(condition, r.type()); };
  const Exprs largest = {mask(And(GreaterEqual(r, b), GreaterEqual(r, g))),
                         mask(And(Greater(g, r), GreaterEqual(g, b))), mask(And(Greater(b, r), Greater(b, g)))};
  const Exprs smallest = {mask(And(Less(r, b), Less(r, g))), mask(And(LessEqual(g, r), Less(g, b))),
                          mask(And(LessEqual(b, r), LessEqual(b, g)))};
  const Expr v = Maximum(Maximum(r, g), b), m = Minimum(Minimum(r, g), b), d = v - m;
  const Expr one = Number(v, 1), by_d = DivNoNan(one, d), by_v = DivNoNan(one, v);
  const Expr n = largest[0] * (g - b) + largest[1] * (b - r) + largest[2] * (r - g);
  Exprs dx;
  for (size_t i = 0; i < 3; ++i) {
    const Expr is_positive = mask(Greater(rgb[i], Zero(v)));
    const Expr ds = is_positive * (largest[i] * m * Square(by_v) - smallest[i] * by_v);
    // n grows with a channel where the one before it is the largest, and falls where the one behind it is.
    const Expr dn = largest[(i + 2) % 3] - largest[(i + 1) % 3];
    const Expr dh = (dn * by_d - n * Square(by_d) * (largest[i] - smallest[i])) / 6.0;
    dx.push_back(dy[0] * dh + dy[1] * ds + dy[2] * largest[i]);
  }
  c.SetInput(0, Pack(dx, -1));
  return absl::OkStatus();
}

// The inverse transforms: rows of eight numbers, of 3 x 3 matrices whose ninth is 1. Those are scaled so that it is 1
// again, and the adjugate is the inverse but for a scale: no determinant is needed.
Expr InverseTransforms(GradientContext& c, const Expr& transforms) {
  const Expr all = AddOp("Unpack", {Reshape(transforms, c.Int32s({-1, 8}))},
                         {{"num", AttrValue(int64_t{8})}, {"axis", AttrValue(int64_t{1})}});
  const Expr &m00 = all, m01 = all.out(1), m02 = all.out(2), m10 = all.out(3), m11 = all.out(4), m12 = all.out(5),
             m20 = all.out(6), m21 = all.out(7);
  const Expr last = m00 * m11 - m01 * m10;
  const Exprs adjugate = {m11 - m12 * m21, m02 * m21 - m01,       m01 * m12 - m02 * m11, m12 * m20 - m10,
                          m00 - m02 * m20, m02 * m10 - m00 * m12, m10 * m21 - m11 * m20, m01 * m20 - m00 * m21};
  return Pack(adjugate, 1) / ExpandDims(last, 1);
}

// (images, transforms, size[, fill]). As TensorFlow has it: dy under the inverse transform, which is the true gradient
// where pixels go to pixels.
absl::Status ProjectiveTransform(GradientContext& c) {
  if (!c.Wants(0)) return absl::OkStatus();  // The transforms and the fill value get no gradient.
  Exprs inputs = {c.dy(), InverseTransforms(c, c.Input(1)), ImageSize(c.Input(0))};
  if (c.num_inputs() == 4) inputs.push_back(Number(c.Input(3), 0));
  c.SetInput(0, AddOp(c.op(), inputs, c.CopyAttrs({"interpolation", "fill_mode"})));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"CropAndResize", &CropAndResize},
    {"CropAndResizeGradImage", &CropAndResizeGradImage},
    {"ImageProjectiveTransformV2", &ProjectiveTransform},
    {"ImageProjectiveTransformV3", &ProjectiveTransform},
    {"RGBToHSV", &RgbToHsv},
    {"ResizeBicubic", &ResizeBicubic},
    {"ResizeBicubicGrad", &ResizeBicubicGrad},
    {"ResizeBilinear", &ResizeBilinear},
    {"ResizeBilinearGrad", &ResizeBilinearGrad},
    {"ResizeNearestNeighbor", &ResizeNearestNeighbor},
    {"ResizeNearestNeighborGrad", &ResizeNearestNeighborGrad},
    {"ScaleAndTranslate", &ScaleAndTranslate},
    {"ScaleAndTranslateGrad", &ScaleAndTranslateGrad},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> ImageGradients() { return kRows; }

}  // namespace sluice

// Cases of ops of networks: convolutions, pooling, normalization, losses, recurrent cells, images.

#include "tests/executor/gradients/row_case.h"

namespace sluice {
namespace {

using Ints = std::vector<int64_t>;
constexpr double kFloat = 1e-3;  // What float32 allows.

void AddConvolutions(std::vector<RowCase>& cases) {
  const GraphBuilder::Attrs plane = {{"strides", Ints{1, 2, 1, 1}}, {"padding", "SAME"}};
  cases.push_back({"Conv2D", {X({1, 3, 3, 2}), X({2, 2, 2, 2}, -1, 1, 2)}, plane});
  cases.push_back(
      {"Conv2D/explicit",
       {X({1, 3, 2, 1}), X({2, 2, 1, 2}, -1, 1, 2)},
       {{"strides", Ints{1, 1, 1, 1}}, {"padding", "EXPLICIT"}, {"explicit_paddings", Ints{0, 0, 1, 0, 0, 1, 0, 0}}}});
  cases.push_back({"Conv2D/dilated",
                   {X({1, 4, 4, 1}), X({2, 2, 1, 1}, -1, 1, 2)},
                   {{"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}, {"dilations", Ints{1, 2, 1, 1}}}});
  cases.push_back({"Conv2DBackpropInput", {Is({1, 3, 3, 1}), X({2, 2, 1, 2}), X({1, 2, 3, 2}, -1, 1, 2)}, plane});
  cases.push_back({"Conv2DBackpropFilter", {X({1, 3, 3, 1}), Is({2, 2, 1, 2}), X({1, 2, 3, 2}, -1, 1, 2)}, plane});
  cases.push_back({"DepthwiseConv2dNative",
                   {X({1, 3, 3, 2}), X({2, 2, 2, 1}, -1, 1, 2)},
                   {{"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}}});
  cases.push_back({"DepthwiseConv2dNativeBackpropInput",
                   {Is({1, 3, 3, 1}), X({2, 2, 1, 2}), X({1, 2, 2, 2}, -1, 1, 2)},
                   {{"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}}});
  cases.push_back({"DepthwiseConv2dNativeBackpropFilter",
                   {X({1, 3, 3, 1}), Is({2, 2, 1, 2}), X({1, 2, 2, 2}, -1, 1, 2)},
                   {{"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}}});
  const GraphBuilder::Attrs volume = {{"strides", Ints{1, 1, 2, 1, 1}}, {"padding", "SAME"}};
  cases.push_back({"Conv3D", {X({1, 2, 2, 2, 1}), X({2, 2, 1, 1, 2}, -1, 1, 2)}, volume});
  cases.push_back(
      {"Conv3DBackpropInputV2", {Is({1, 2, 2, 2, 1}), X({2, 2, 1, 1, 2}), X({1, 2, 1, 2, 2}, -1, 1, 2)}, volume});
  cases.push_back(
      {"Conv3DBackpropFilterV2", {X({1, 2, 2, 2, 1}), Is({2, 2, 1, 1, 2}), X({1, 2, 1, 2, 2}, -1, 1, 2)}, volume});
  cases.push_back(
      {"Conv3DBackpropInput", {Fixed(X({1, 2, 2, 2, 1})), X({2, 2, 1, 1, 2}), X({1, 2, 1, 2, 2}, -1, 1, 2)}, volume});
  cases.back().graph_version = 9;
  cases.push_back(
      {"Conv3DBackpropFilter", {X({1, 2, 2, 2, 1}), Fixed(X({2, 2, 1, 1, 2})), X({1, 2, 1, 2, 2}, -1, 1, 2)}, volume});
  cases.back().graph_version = 9;
  cases.push_back({"Dilation2D",
                   {X({1, 3, 3, 1}), X({2, 2, 1}, -1, 1, 2)},
                   {{"strides", Ints{1, 1, 1, 1}}, {"rates", Ints{1, 1, 1, 1}}, {"padding", "VALID"}},
                   0,
                   1});
}

void AddPooling(std::vector<RowCase>& cases) {
  const GraphBuilder::Attrs plane = {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 1, 2, 1}}, {"padding", "SAME"}};
  const GraphBuilder::Attrs volume = {
      {"ksize", Ints{1, 2, 1, 2, 1}}, {"strides", Ints{1, 1, 1, 2, 1}}, {"padding", "VALID"}};
  cases.push_back({"AvgPool", {X({1, 3, 3, 2})}, plane});
  cases.push_back({"AvgPoolGrad", {Is({1, 3, 3, 1}), X({1, 3, 2, 1})}, plane});
  cases.push_back({"MaxPool", {X({1, 3, 3, 2})}, plane});
  cases.push_back({"MaxPoolV2", {X({1, 3, 3, 2}), Is({1, 2, 2, 1}), Is({1, 1, 2, 1})}, {{"padding", "SAME"}}});
  cases.push_back({"MaxPoolWithArgmax", {X({1, 3, 3, 2})}, plane, 0, 2, {0}});
  for (const bool in_float : {true}) {
    cases.push_back({"AvgPool3D", {X({1, 2, 2, 2, 1})}, volume, kFloat, 2, {}, in_float});
    cases.push_back({"AvgPool3DGrad", {Is({1, 2, 2, 2, 1}), X({1, 1, 2, 1, 1})}, volume, kFloat, 2, {}, in_float});
    cases.push_back(
        {"MaxPool3D", {V({1, 2, 2, 2, 1}, {1, -2, 3, 0.5, -1, 2, 4, -3})}, volume, kFloat, 2, {}, in_float});
  }
  // Gradients of pools by dy alone: the other operands only say where the largest ones are.
  const RowArg x = Fixed(V({1, 2, 2, 1}, {1, -2, 3, 0.5})), y = Fixed(V({1, 1, 1, 1}, {3}));
  const GraphBuilder::Attrs all = {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "VALID"}};
  cases.push_back({"MaxPoolGrad", {x, y, X({1, 1, 1, 1})}, all});
  cases.push_back({"MaxPoolGradGrad", {x, y, X({1, 2, 2, 1})}, all});
  cases.push_back(
      {"MaxPoolGradV2", {x, y, X({1, 1, 1, 1}), Is({1, 2, 2, 1}), Is({1, 2, 2, 1})}, {{"padding", "VALID"}}});
  cases.push_back(
      {"MaxPoolGradGradV2", {x, y, X({1, 2, 2, 1}), Is({1, 2, 2, 1}), Is({1, 2, 2, 1})}, {{"padding", "VALID"}}});
  cases.push_back({"MaxPoolGradWithArgmax", {x, X({1, 1, 1, 1}), Ls({1, 1, 1, 1}, {2})}, all});
  cases.push_back({"MaxPoolGradGradWithArgmax", {x, X({1, 2, 2, 1}), Ls({1, 1, 1, 1}, {2})}, all});
  const RowArg x3 = Fixed(V({1, 2, 1, 2, 1}, {1, -2, 3, 0.5})), y3 = Fixed(V({1, 1, 1, 1, 1}, {3}));
  cases.push_back({"MaxPool3DGrad", {x3, y3, X({1, 1, 1, 1, 1})}, volume, kFloat, 2, {}, true});
  cases.push_back({"MaxPool3DGradGrad", {x3, y3, X({1, 2, 1, 2, 1})}, volume, kFloat, 2, {}, true});
  const GraphBuilder::Attrs fractional = {{"pooling_ratio", std::vector<float>{1.0f, 1.5f, 1.5f, 1.0f}},
                                          {"deterministic", true},
                                          {"seed", 3},
                                          {"seed2", 5}};
  cases.push_back({"FractionalAvgPool", {X({1, 3, 4, 1})}, fractional, 0, 1, {0}});
  cases.push_back({"FractionalMaxPool", {X({1, 3, 4, 1})}, fractional, 0, 1, {0}});
}

void AddNormalizations(std::vector<RowCase>& cases) {
  cases.push_back({"LRN", {X({1, 1, 2, 4})}, {{"depth_radius", 1}}, kFloat, 1, {}, true});
  cases.push_back({"BatchNormWithGlobalNormalization",
                   {X({1, 2, 2, 2}), X({2}), X({2}, 0.5, 1), X({2}), X({2}, 0.5, 1)},
                   {{"variance_epsilon", 0.01f}, {"scale_after_normalization", true}},
                   kFloat,
                   1,
                   {},
                   true});
  cases.back().graph_version = 8;
  for (const char* version : {"", "V2", "V3"}) {
    const std::string op = std::string("FusedBatchNorm") + version;
    const RowArg none = Fixed(V({0}, {}));
    const RowArg mean = Fixed(X({2})), variance = Fixed(X({2}, 0.5, 1));
    for (const char* format : {"NHWC", "NCHW"}) {
      cases.push_back({op + "/" + format,
                       {X({2, 2, 2, 2}), X({2}, 0.5, 1.5), X({2}), none, none},
                       {{"epsilon", 0.01f}, {"data_format", format}},
                       kFloat,
                       2,
                       {0},
                       true});
    }
    cases.push_back({op + "/inference",
                     {X({2, 1, 2, 2}), X({2}, 0.5, 1.5), X({2}), mean, variance},
                     {{"epsilon", 0.01f}, {"is_training", false}},
                     kFloat,
                     2,
                     {0},
                     true});
  }
}

void AddLosses(std::vector<RowCase>& cases) {
  const RowArg labels = V({2, 3}, {0.2, 0.3, 0.5, 0.1, 0.8, 0.1});
  // The gradient by the labels is that of a loss alone, and the second output's is not; labels must sum to 1.
  cases.push_back({"SoftmaxCrossEntropyWithLogits", {X({2, 3}, -2, 2), Fixed(labels)}});
  cases.push_back({"SoftmaxCrossEntropyWithLogits/labels", {X({2, 3}, -2, 2), labels}, {}, 0, 1, {0}});
  cases.push_back({"SparseSoftmaxCrossEntropyWithLogits", {X({2, 3}, -2, 2), Is({2, 0})}});
  cases.push_back(
      {"CTCLoss", {X({4, 1, 3}, -1, 1), Ls({2, 2}, {0, 0, 0, 1}), Is({0, 1}), Is({4})}, {}, kFloat, 1, {0}, true});
}

void AddRecurrent(std::vector<RowCase>& cases) {
  // Two inputs, two cells, a batch of two.
  const RowArg x = X({2, 2}), c = X({2, 2}, -1, 1, 2), h = X({2, 2}, -1, 1, 3), w = X({4, 8}, -1, 1, 4);
  const RowArg wci = X({2}, -1, 1, 5), wcf = X({2}, -1, 1, 6), wco = X({2}, -1, 1, 7), b = X({8}, -1, 1, 8);
  const GraphBuilder::Attrs cell = {{"use_peephole", true}, {"cell_clip", -1.0f}};
  cases.push_back({"LSTMBlockCell", {x, c, h, w, wci, wcf, wco, b}, cell, kFloat, 1, {1, 6}, true});
  for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) {
    cases.push_back({op, {L(3), X({3, 2, 2}), c, h, w, wci, wcf, wco, b}, cell, kFloat, 1, {1, 6}, true});
  }
  cases.push_back({"GRUBlockCell",
                   {x, h, X({4, 4}, -1, 1, 4), X({4, 2}, -1, 1, 5), X({4}, -1, 1, 6), X({2}, -1, 1, 7)},
                   {},
                   kFloat,
                   1,
                   {3},
                   true});
}

void AddImages(std::vector<RowCase>& cases) {
  for (const char* op : {"ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"}) {
    cases.push_back({op, {X({1, 2, 3, 1}), Is({3, 4})}, {{"half_pixel_centers", true}}, kFloat, 2, {}, true});
  }
  cases.push_back({"ResizeBilinearGrad", {X({1, 3, 4, 1}), Fixed(X({1, 2, 3, 1}))}, {}, kFloat, 2, {}, true});
  cases.push_back({"ResizeBicubicGrad", {X({1, 3, 4, 1}), Fixed(X({1, 2, 3, 1}))}, {}, kFloat, 2, {}, true});
  cases.push_back({"ResizeNearestNeighborGrad", {X({1, 3, 4, 1}), Is({2, 3})}});
  const RowArg scale = Floats({2}, {1.5f, 0.75f}), shift = Floats({2}, {0.25f, 0});
  cases.push_back({"ScaleAndTranslate",
                   {X({1, 3, 3, 1}), Is({4, 3}), scale, shift},
                   {{"kernel_type", "triangle"}},
                   kFloat,
                   2,
                   {},
                   true});
  cases.push_back({"ScaleAndTranslateGrad",
                   {X({1, 4, 3, 1}), Fixed(X({1, 3, 3, 1})), scale, shift},
                   {{"kernel_type", "triangle"}},
                   kFloat,
                   2,
                   {},
                   true});
  // Moves by whole pixels; some leave the image.
  const RowArg moves = Floats({2, 8}, {1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0});
  const GraphBuilder::Attrs nearest = {{"interpolation", "NEAREST"}};
  cases.push_back({"ImageProjectiveTransformV2", {X({2, 3, 3, 1}), moves, Is({3, 3})}, nearest});
  cases.push_back({"ImageProjectiveTransformV3", {X({2, 3, 3, 1}), moves, Is({3, 3}), Floats({}, {0.5})}, nearest});
  cases.push_back({"CropAndResize",
                   {X({2, 3, 3, 1}), V({2, 4}, {0.1, 0.1, 0.8, 0.7, 0.2, 0.05, 0.9, 0.6}), Is({1, 0}), Is({2, 2})},
                   {},
                   kFloat,
                   1,
                   {},
                   true});
  cases.push_back(
      {"CropAndResize/image",
       {X({2, 3, 3, 1}), Fixed(V({2, 4}, {0.1, 0.1, 0.8, 0.7, 0.2, 0.05, 0.9, 0.6})), Is({1, 0}), Is({2, 2})},
       {},
       kFloat,
       2,
       {},
       true});
  cases.push_back(
      {"CropAndResizeGradImage",
       {X({2, 2, 2, 1}), Fixed(V({2, 4}, {0.1, 0.1, 0.8, 0.7, 0.2, 0.05, 0.9, 0.6})), Is({1, 0}), Is({2, 3, 3, 1})},
       {{"T", DType::kFloat}},
       kFloat,
       2,
       {},
       true});
  cases.push_back({"RGBToHSV", {V({4, 3}, {0.9, 0.2, 0.4, 0.3, 0.8, 0.1, 0.2, 0.4, 0.7, 0.5, 0.1, 0.6})}});
}

}  // namespace

std::vector<RowCase> NetworkCases() {
  std::vector<RowCase> cases;
  AddConvolutions(cases);
  AddPooling(cases);
  AddNormalizations(cases);
  AddLosses(cases);
  AddRecurrent(cases);
  AddImages(cases);
  return cases;
}

}  // namespace sluice

#include "tests/testing/image_inputs.h"

#include <cstring>
#include <iterator>
#include <map>

#include "graph/value/shape.h"

namespace sluice {
namespace {

// The kinds of an op's inputs, a letter each. Windows have stride 1 and padding SAME (the attrs of trials): results are
// as large as the images.
//   x  an image                     V  a volume                       m  a matrix
//   c  an element for each channel  b  one for each image or row      1  a scalar
//   s  the sizes of x               S  the sizes of V                 h  an image of half the height and width
//   k  window [1,2,2,1]             t  stride [1,1,1,1]               q  every second row: 0, 2, ...
//   0  an image of zeros            o  the same, of half the height and width
// Filters, two rows high and three columns wide, with as many channels made as taken:
//   f  for images                   F  for volumes                    d  for each channel alone
//   g  the sizes of f               G  the sizes of F                 e  the sizes of d
//   r  for greyscale dilation
const std::map<std::string, std::string>& Roles() {
  static const std::map<std::string, std::string>& roles = *new std::map<std::string, std::string>{
      {"AvgPool3D", "V"},
      {"AvgPool3DGrad", "SV"},
      {"AvgPoolGrad", "sx"},
      {"BatchNormWithGlobalNormalization", "xcccc"},
      {"BatchNormWithGlobalNormalizationGrad", "xcccx"},
      {"Conv2D", "xf"},
      {"Conv2DBackpropFilter", "xgx"},
      {"Conv2DBackpropInput", "sfx"},
      {"Conv3D", "VF"},
      {"Conv3DBackpropFilter", "VFV"},
      {"Conv3DBackpropFilterV2", "VGV"},
      {"Conv3DBackpropInput", "VFV"},
      {"Conv3DBackpropInputV2", "SFV"},
      {"DepthwiseConv2dNative", "xd"},
      {"DepthwiseConv2dNativeBackpropFilter", "xex"},
      {"DepthwiseConv2dNativeBackpropInput", "sdx"},
      {"Dilation2D", "xr"},
      {"Dilation2DBackpropFilter", "xrx"},
      {"Dilation2DBackpropInput", "xrx"},
      {"ExtractVolumePatches", "V"},
      {"FractionalAvgPoolGrad", "shqq"},
      {"FractionalMaxPoolGrad", "0ohqq"},
      {"FusedBatchNorm", "xcccc"},
      {"FusedBatchNormGrad", "xxccc"},
      {"FusedBatchNormGradV2", "xxccc"},
      {"FusedBatchNormGradV3", "xxcccc"},
      {"FusedBatchNormV2", "xcccc"},
      {"FusedBatchNormV3", "xcccc"},
      {"InTopK", "mb"},
      {"InTopKV2", "mb1"},
      {"LRNGrad", "xxx"},
      {"MaxPool3D", "V"},
      {"MaxPool3DGrad", "VVV"},
      {"MaxPool3DGradGrad", "VVV"},
      {"MaxPoolGrad", "xxx"},
      {"MaxPoolGradGrad", "xxx"},
      {"MaxPoolGradGradV2", "xxxkt"},
      {"MaxPoolGradGradWithArgmax", "xxx"},
      {"MaxPoolGradV2", "xxxkt"},
      {"MaxPoolGradWithArgmax", "xxx"},
      {"MaxPoolV2", "xkt"},
      {"SparseSoftmaxCrossEntropyWithLogits", "mb"},
      {"_FusedBatchNormEx", "xccccx"},
      {"_FusedConv2D", "xfc"},
      {"_FusedDepthwiseConv2dNative", "xdc"},
  };
  return roles;
}

// Heights and widths are even: see 'h'.
constexpr int64_t kSmallImages[][4] = {{1, 2, 2, 3},  {2, 4, 4, 1}, {2, 2, 6, 5},
                                       {1, 4, 2, 40}, {0, 2, 2, 3}, {1, 2, 2, 0}};
constexpr int64_t kLargeImages[][4] = {{8, 20, 30, 9}, {3, 16, 16, 70}, {2, 100, 100, 2}};

Tensor Numbers(DType dtype, const std::vector<int64_t>& values) {
  if (dtype == DType::kInt64) return Tensor::Vector<int64_t>(values);
  return Tensor::Vector<int32_t>(std::vector<int32_t>(values.begin(), values.end()));
}

// The sizes of a tensor that is drawn.
std::vector<int64_t> DimsOf(char role, const int64_t (&image)[4]) {
  const int64_t n = image[0], h = image[1], w = image[2], c = image[3];
  switch (role) {
    case 'V':
      return {n, 2, h, w, c};
    case 'm':
      return {n * h, w * c};
    case 'c':
      return {c};
    case 'b':
      return {n * h};
    case '1':
      return {};
    case 'h':
      return {n, h / 2, h / 2, c};
    case 'f':
      return {2, 3, c, c};
    case 'F':
      return {1, 2, 3, c, c};
    case 'd':
      return {2, 3, c, 1};
    case 'r':
      return {2, 3, c};
    default:
      return {n, h, w, c};
  }
}

Tensor InputFor(char role, DType dtype, const int64_t (&image)[4], PlausibleInputs* elements) {
  const auto zeros = [&](char like) {
    return Tensor::MakeZeros(dtype, Shape::Make(DimsOf(like, image)).value()).value();
  };
  std::vector<int64_t> every_second;
  switch (role) {
    case 's':
      return Numbers(dtype, DimsOf('x', image));
    case 'S':
      return Numbers(dtype, DimsOf('V', image));
    case 'g':
      return Numbers(dtype, DimsOf('f', image));
    case 'G':
      return Numbers(dtype, DimsOf('F', image));
    case 'e':
      return Numbers(dtype, DimsOf('d', image));
    case 'k':
      return Numbers(dtype, {1, 2, 2, 1});
    case 't':
      return Numbers(dtype, {1, 1, 1, 1});
    case 'q':
      for (int64_t i = 0; i <= image[1]; i += 2) every_second.push_back(i);
      return Numbers(dtype, every_second);
    case '0':
      return zeros('x');
    case 'o':
      return zeros('h');
    default:
      return elements->DrawOne(dtype, Shape::Make(DimsOf(role, image)).value());
  }
}

}  // namespace

std::vector<Tensor> ImageInputs::Draw(const std::string& op, absl::Span<const DType> dtypes, bool is_large,
                                      PlausibleInputs* elements) {
  const auto found = Roles().find(op);
  if (found == Roles().end() || random_() % 4 == 0 || found->second.size() != dtypes.size()) return {};
  const auto& image =
      is_large ? kLargeImages[random_() % std::size(kLargeImages)] : kSmallImages[random_() % std::size(kSmallImages)];
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    inputs.push_back(InputFor(found->second[i], dtypes[i], image, elements));
  }
  return inputs;
}

}  // namespace sluice

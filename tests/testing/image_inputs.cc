#include "tests/testing/image_inputs.h"

#include <cstring>
#include <iterator>
#include <map>

#include "graph/value/shape.h"

namespace sluice {
namespace {

// What the inputs of an op are, a letter each. Windows have stride 1 and padding SAME (the attrs of trials): results
// are as large as the images.
//   x  an image                     V  a volume                       m  a matrix
//   c  an element for each channel  b  one for each image or row      1  a scalar
//   s  the sizes of x               S  the sizes of V                 h  an image of half the height and width
//   k  window [1,2,2,1]             t  stride [1,1,1,1]               q  every second row: 0, 2, ...
//   0  an image of zeros            o  the same, of half the height and width
const std::map<std::string, std::string>& Roles() {
  static const std::map<std::string, std::string>& roles = *new std::map<std::string, std::string>{
      {"AvgPool3D", "V"},
      {"AvgPool3DGrad", "SV"},
      {"AvgPoolGrad", "sx"},
      {"BatchNormWithGlobalNormalization", "xcccc"},
      {"BatchNormWithGlobalNormalizationGrad", "xcccx"},
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
      {"_FusedBatchNormEx", "xcccc"},
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

Tensor InputFor(char role, DType dtype, const int64_t (&image)[4], PlausibleInputs* elements) {
  const int64_t n = image[0], h = image[1], w = image[2], c = image[3];
  const auto draw = [&](std::initializer_list<int64_t> dims) { return elements->DrawOne(dtype, Shape::Of(dims)); };
  const auto zeros = [&](std::initializer_list<int64_t> dims) {
    return Tensor::MakeZeros(dtype, Shape::Of(dims)).value();
  };
  std::vector<int64_t> every_second;
  switch (role) {
    case 'x':
      return draw({n, h, w, c});
    case 'V':
      return draw({n, 2, h, w, c});
    case 'm':
      return draw({n * h, w * c});
    case 'c':
      return draw({c});
    case 'b':
      return draw({n * h});
    case '1':
      return draw({});
    case 's':
      return Numbers(dtype, {n, h, w, c});
    case 'S':
      return Numbers(dtype, {n, 2, h, w, c});
    case 'h':
      return draw({n, h / 2, h / 2, c});
    case 'k':
      return Numbers(dtype, {1, 2, 2, 1});
    case 't':
      return Numbers(dtype, {1, 1, 1, 1});
    case 'q':
      for (int64_t i = 0; i <= h; i += 2) every_second.push_back(i);
      return Numbers(dtype, every_second);
    case '0':
      return zeros({n, h, w, c});
    default:
      return zeros({n, h / 2, h / 2, c});
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

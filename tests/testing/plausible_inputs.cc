#include "tests/testing/plausible_inputs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <type_traits>

#include "graph/value/tstring.h"
#include "kernels/dispatch.h"

namespace sluice {
namespace {

constexpr int64_t kSmallShapes[][4] = {{-1, -1, -1, -1}, {1, -1, -1, -1}, {2, -1, -1, -1}, {4, -1, -1, -1},
                                       {0, -1, -1, -1},  {2, 2, -1, -1},  {2, 4, -1, -1},  {4, 4, -1, -1},
                                       {3, 1, -1, -1},   {2, 0, -1, -1},  {0, 3, -1, -1},  {2, 2, 2, -1},
                                       {1, 3, 2, -1},    {1, 4, 4, 4},    {4, 2, 2, 1},    {4, 4, 4, 4}};
constexpr int64_t kLargeShapes[][4] = {{140, 140, -1, -1}, {20000, -1, -1, -1}, {2, 10000, -1, -1}};

Shape ShapeOf(const int64_t (&sizes)[4]) {
  const auto end = std::find(std::begin(sizes), std::end(sizes), -1);
  return Shape::Make(absl::MakeConstSpan(sizes, static_cast<size_t>(end - sizes))).value();
}

template <typename T>
T RandomElement(std::mt19937& random) {
  const int small = static_cast<int>(random() % 4);
  if constexpr (std::is_same<T, bool>::value) {
    return small < 2;
  } else if constexpr (std::is_integral<T>::value) {
    const bool is_odd_one = random() % 40 == 0;
    return is_odd_one ? static_cast<T>(-1) : static_cast<T>(small);
  } else {
    const float value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 8.0f;
    const bool is_odd_one = random() % 200 == 0;
    return T(is_odd_one ? (small == 0 ? INFINITY : small == 1 ? std::nanf("") : -0.0f) : value);
  }
}

using FilledTypes = Join<NumberCppTypes, TypeList<bool>>;

void FillRandomly(std::mt19937& random, Tensor* tensor) {
  if (tensor->dtype() == DType::kString) {
    for (TString& text : tensor->flat<TString>())
      text = std::string(random() % 40, static_cast<char>('a' + random() % 3));
    return;
  }
  const bool is_filled = DispatchDType<FilledTypes>(tensor->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    for (T& element : tensor->flat<T>()) element = RandomElement<T>(random);
  });
  if (is_filled || !IsTrivial(tensor->dtype())) return;
  char* const bytes = static_cast<char*>(tensor->mutable_raw_data());
  for (size_t i = 0; i < tensor->total_bytes(); ++i) bytes[i] = static_cast<char>(random() % 4);
}

}  // namespace

Shape PlausibleInputs::RandomShape(const Shape& main) {
  const absl::Span<const int64_t> dims = main.dims();
  switch (random_() % 16) {
    case 0:
    case 1:
      return Shape();
    case 2:
      return Shape::Of({static_cast<int64_t>(dims.size())});
    case 3:
      return Shape::Of({static_cast<int64_t>(dims.size()), 2});
    case 4:
      return dims.empty() ? Shape() : Shape::Of({dims.front()});
    case 5:
      return dims.empty() ? Shape() : Shape::Of({dims.back()});
    case 6:
      return Shape::Of({static_cast<int64_t>(1 + random_() % 3)});
    case 7:
      return ShapeOf(kSmallShapes[random_() % std::size(kSmallShapes)]);
    default:
      return main;
  }
}

Shape PlausibleInputs::ShapeOfInput(size_t input, size_t num_inputs, const Shape& main, ShapePattern pattern) {
  const int64_t rank = main.rank();
  switch (pattern) {
    case ShapePattern::kScalars:
      return input == 0 ? main : Shape();
    case ShapePattern::kVectors:
      return input == 0 ? main : Shape::Of({rank});
    case ShapePattern::kBlocks:
      return input == 0 ? main : input == 1 ? Shape::Of({2}) : Shape::Of({2, 2});
    case ShapePattern::kPairs:
      return input == 0 ? main : Shape::Of({2, 2});
    case ShapePattern::kBias:
      return input + 1 < num_inputs || rank == 0 ? main : Shape::Of({main.dims().back()});
    case ShapePattern::kAxis:
      return input == 0 ? Shape() : main;
    default:
      return RandomShape(main);
  }
}

Tensor PlausibleInputs::RandomInput(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::Make(dtype, shape).value();
  FillRandomly(random_, &tensor);
  // Axes and permutations.
  if (dtype == DType::kInt32 && tensor.rank() == 1 && random_() % 3 == 0) {
    const absl::Span<int32_t> values = tensor.flat<int32_t>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
    std::shuffle(values.begin(), values.end(), random_);
  }
  return tensor;
}

std::vector<Tensor> PlausibleInputs::Draw(absl::Span<const DType> dtypes, bool is_large) {
  const Shape main = is_large ? ShapeOf(kLargeShapes[random_() % std::size(kLargeShapes)])
                              : ShapeOf(kSmallShapes[random_() % std::size(kSmallShapes)]);
  const ShapePattern pattern = static_cast<ShapePattern>(random_() % 12);
  std::vector<Tensor> inputs;
  for (const DType dtype : dtypes) {
    const bool is_repeated = pattern == ShapePattern::kAxis && inputs.size() >= 2 && inputs[1].dtype() == dtype;
    inputs.push_back(is_repeated ? inputs[1]
                                 : RandomInput(dtype, ShapeOfInput(inputs.size(), dtypes.size(), main, pattern)));
  }
  return inputs;
}

std::vector<Tensor> PlausibleInputs::DrawUpdate(absl::Span<const DType> dtypes, absl::Span<const InputRole> roles,
                                                bool is_large) {
  if (random_() % 4 == 0) return Draw(dtypes, is_large);
  const Shape main = is_large ? ShapeOf(kLargeShapes[random_() % std::size(kLargeShapes)])
                              : ShapeOf(kSmallShapes[random_() % std::size(kSmallShapes)]);
  std::vector<int64_t> rows(main.dims().begin(), main.dims().end());
  if (rows.empty()) rows.push_back(1);
  rows[0] = static_cast<int64_t>(random_() % 5);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    Shape shape = main;
    if (roles[i] == InputRole::kScalar) shape = Shape();
    if (roles[i] == InputRole::kGradientRows) shape = Shape::Make(rows).value();
    if (roles[i] == InputRole::kIndices) shape = Shape::Of({rows[0]});
    inputs.push_back(RandomInput(dtypes[i], shape));
  }
  return inputs;
}

std::vector<Tensor> PlausibleInputs::DrawShaped(absl::Span<const DType> dtypes, absl::Span<const Shape> shapes) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < dtypes.size(); ++i) inputs.push_back(RandomInput(dtypes[i], shapes[i]));
  return inputs;
}

}  // namespace sluice

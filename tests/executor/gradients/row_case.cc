#include "tests/executor/gradients/row_case.h"

#include <random>

namespace sluice {
namespace {

int64_t SizeOf(std::initializer_list<int64_t> shape) {
  int64_t size = 1;
  for (const int64_t dim : shape) size *= dim;
  return size;
}

template <typename T>
RowArg Constant(std::initializer_list<int64_t> shape, const std::vector<T>& values) {
  return {RowArg::Kind::kConstant, Tensor::Of<T>(Shape::Of(shape), values)};
}

}  // namespace

RowArg X(std::initializer_list<int64_t> shape, double low, double high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<size_t>(SizeOf(shape)));
  for (double& value : values) value = low + (high - low) * (random() / 4294967296.0);
  return V(shape, values);
}

RowArg Z(std::initializer_list<int64_t> shape, double low, double high, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::complex<double>> values(static_cast<size_t>(SizeOf(shape)));
  for (std::complex<double>& value : values) {
    const double re = low + (high - low) * (random() / 4294967296.0);
    value = {re, low + (high - low) * (random() / 4294967296.0)};
  }
  return {RowArg::Kind::kVariable, Tensor::Of<std::complex<double>>(Shape::Of(shape), values)};
}

RowArg V(std::initializer_list<int64_t> shape, std::vector<double> values) {
  return {RowArg::Kind::kVariable, Tensor::Of<double>(Shape::Of(shape), values)};
}

RowArg Handle(RowArg value) { return {RowArg::Kind::kHandle, std::move(value.value)}; }
RowArg Fixed(RowArg value) { return {RowArg::Kind::kConstant, std::move(value.value)}; }
RowArg I(int32_t value) { return Constant<int32_t>({}, {value}); }
RowArg Is(std::vector<int32_t> values) { return {RowArg::Kind::kConstant, Tensor::Vector<int32_t>(values)}; }
RowArg Is(std::initializer_list<int64_t> shape, std::vector<int32_t> values) { return Constant(shape, values); }
RowArg L(int64_t value) { return Constant<int64_t>({}, {value}); }
RowArg Ls(std::vector<int64_t> values) { return {RowArg::Kind::kConstant, Tensor::Vector<int64_t>(values)}; }
RowArg Ls(std::initializer_list<int64_t> shape, std::vector<int64_t> values) { return Constant(shape, values); }
RowArg F(double value) { return Constant<double>({}, {value}); }
RowArg Floats(std::initializer_list<int64_t> shape, std::vector<float> values) { return Constant(shape, values); }

RowArg Bs(std::initializer_list<int64_t> shape, std::vector<bool> values) {
  RowArg arg = {RowArg::Kind::kConstant, *Tensor::MakeZeros(DType::kBool, Shape::Of(shape))};
  for (size_t i = 0; i < values.size(); ++i) arg.value.flat<bool>()[i] = values[i];
  return arg;
}

}  // namespace sluice

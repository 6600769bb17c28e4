#ifndef SLUICE_TESTS_KERNELS_ARRAY_TENSORS_H_
#define SLUICE_TESTS_KERNELS_ARRAY_TENSORS_H_

// Small tensors for tests of kernels that move elements.

#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "graph/value/tensor.h"

namespace sluice {

// A vector of int32.
inline Tensor Ints(std::vector<int32_t> values) { return Tensor::Vector<int32_t>(values); }
inline Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }

// 0, 1, 2, ... of shape `dims`.
template <typename T = float>
Tensor Counting(std::initializer_list<int64_t> dims) {
  const Shape shape = Shape::Of(dims);
  std::vector<T> values(static_cast<size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), T(0));
  return Tensor::Of<T>(shape, values);
}

// The elements as a list, for ElementsAre.
template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  const absl::Span<const T> flat = tensor.flat<T>();
  return std::vector<T>(flat.begin(), flat.end());
}
inline std::vector<int64_t> Dims(const Tensor& tensor) {
  return std::vector<int64_t>(tensor.shape().dims().begin(), tensor.shape().dims().end());
}

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_ARRAY_TENSORS_H_

#ifndef SLUICE_TESTS_KERNELS_IMAGE_IMAGES_H_
#define SLUICE_TESTS_KERNELS_IMAGE_IMAGES_H_

// Small tensors and comparisons for tests of kernels of images.

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/value/float16.h"
#include "graph/value/tensor.h"
#include "kernels/dispatch.h"

namespace sluice {

// `values` as elements of `dtype`.
inline Tensor TensorOf(DType dtype, const std::vector<int64_t>& dims, const std::vector<double>& values) {
  Tensor tensor = Tensor::Make(dtype, Shape::Make(dims).value()).value();
  DispatchDType<RealCppTypes>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_class_v<T>) {
        tensor.flat<T>()[i] = T(static_cast<float>(values[i]));
      } else {
        tensor.flat<T>()[i] = static_cast<T>(values[i]);
      }
    }
  });
  return tensor;
}
inline Tensor FloatsOf(const std::vector<int64_t>& dims, const std::vector<double>& values) {
  return TensorOf(DType::kFloat, dims, values);
}
// (7 i) % modulus for element i.
inline Tensor Pattern(DType dtype, const std::vector<int64_t>& dims, int modulus = 11) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= dim;
  std::vector<double> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % static_cast<size_t>(modulus));
  return TensorOf(dtype, dims, values);
}

// The elements as doubles.
inline std::vector<double> DoublesOf(const Tensor& tensor) {
  std::vector<double> values;
  DispatchDType<RealCppTypes>(tensor.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    for (const T value : tensor.flat<T>()) {
      if constexpr (std::is_class_v<T>) {
        values.push_back(static_cast<double>(static_cast<float>(value)));
      } else {
        values.push_back(static_cast<double>(value));
      }
    }
  });
  return values;
}

// What differs by more than `tolerance` of a value (and as much again); empty where nothing does.
inline std::string Difference(const Tensor& got, const std::vector<double>& want, double tolerance = 1e-5) {
  const std::vector<double> values = DoublesOf(got);
  if (values.size() != want.size()) return absl::StrCat(values.size(), " elements, not ", want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(values[i]) && std::isnan(want[i])) continue;
    if (std::abs(values[i] - want[i]) <= tolerance * (1 + std::abs(want[i]))) continue;
    return absl::StrCat("element ", i, " is ", values[i], ", not ", want[i]);
  }
  return "";
}

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_IMAGE_IMAGES_H_

#include "tools/cli/train/tensor_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"

namespace sluice {
namespace {

template <typename T>
double Number(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

// Calls `fn` with a value of the type that elements of `dtype` have. REQUIRES: IsRealNumber(dtype).
template <typename Fn>
void WithType(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kFloat:
      return fn(float{});
    case DType::kDouble:
      return fn(double{});
    case DType::kHalf:
      return fn(Half());
    case DType::kBFloat16:
      return fn(BFloat16());
    case DType::kInt8:
      return fn(int8_t{});
    case DType::kInt16:
      return fn(int16_t{});
    case DType::kInt32:
      return fn(int32_t{});
    case DType::kInt64:
      return fn(int64_t{});
    case DType::kUInt8:
      return fn(uint8_t{});
    case DType::kUInt16:
      return fn(uint16_t{});
    case DType::kUInt32:
      return fn(uint32_t{});
    case DType::kUInt64:
      return fn(uint64_t{});
    default:
      return fn(bool{});
  }
}

// Returns false if T cannot hold the number.
template <typename T>
bool Store(double number, T* to) {
  if constexpr (std::is_same_v<T, bool>) {
    *to = number != 0;
    return number == 0 || number == 1;
  } else if constexpr (std::is_integral_v<T>) {
    // Beyond 2^53 a double may not be the integer that it was converted from.
    const double most = std::ldexp(1.0, std::min(std::numeric_limits<T>::digits, 53));
    const double least = std::max(static_cast<double>(std::numeric_limits<T>::min()), -most);
    const double beyond = most;
    if (!(number >= least && number < beyond) || number != std::floor(number)) return false;
    *to = static_cast<T>(number);
    return true;
  } else {
    *to = T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(number));
    return true;
  }
}

absl::Status CannotHold(const Tensor& tensor, DType dtype, double number) {
  return Error(ErrorCode::kFeedType)
      .Text(absl::StrCat("the number ", number, " cannot become one of dtype ", DTypeName(dtype)))
      .Found(DTypeName(tensor.dtype()))
      .Expected(DTypeName(dtype));
}

}  // namespace

bool IsRealNumber(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kDouble:
    case DType::kHalf:
    case DType::kBFloat16:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
    case DType::kBool:
      return true;
    default:
      return false;
  }
}

double MeanOf(const Tensor& tensor) {
  double sum = 0;
  WithType(tensor.dtype(), [&](auto type) {
    for (const auto value : tensor.flat<decltype(type)>()) sum += Number(value);
  });
  return sum / static_cast<double>(tensor.num_elements());
}

absl::StatusOr<Tensor> ConvertNumbers(const Tensor& tensor, DType dtype) {
  if (!IsRealNumber(dtype) || !IsRealNumber(tensor.dtype())) {
    return Error(ErrorCode::kFeedType)
        .Text("values of this dtype are not converted")
        .Found(DTypeName(tensor.dtype()))
        .Expected(DTypeName(dtype));
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor converted, Tensor::Make(dtype, tensor.shape()));
  absl::Status status;
  WithType(tensor.dtype(), [&](auto from) {
    const auto values = tensor.flat<decltype(from)>();
    WithType(dtype, [&](auto to) {
      const auto results = converted.flat<decltype(to)>();
      for (size_t i = 0; i < values.size() && status.ok(); ++i) {
        const double number = Number(values[i]);
        if (!Store(number, &results[i])) status = CannotHold(tensor, dtype, number);
      }
    });
  });
  SLUICE_RETURN_IF_ERROR(status);
  return converted;
}

}  // namespace sluice

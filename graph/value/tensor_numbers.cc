#include "graph/value/tensor_numbers.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"

namespace sluice {
namespace {

// A number of any type, without loss.
struct Number {
  enum class Kind : uint8_t { kReal, kSigned, kUnsigned, kComplex };
  Kind kind = Kind::kReal;
  double real = 0, imag = 0;  // Of kReal and kComplex.
  int64_t whole = 0;          // Of kSigned.
  uint64_t natural = 0;       // Of kUnsigned.
};

template <typename T>
Number NumberOf(T value) {
  Number number;
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    number.real = static_cast<double>(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    number.real = static_cast<double>(value);
  } else if constexpr (std::is_signed_v<T>) {
    number.kind = Number::Kind::kSigned;
    number.whole = value;
  } else {
    number.kind = Number::Kind::kUnsigned;
    number.natural = value;
  }
  return number;
}
template <typename T>
Number NumberOf(std::complex<T> value) {
  Number number;
  number.kind = Number::Kind::kComplex;
  number.real = static_cast<double>(value.real());
  number.imag = static_cast<double>(value.imag());
  return number;
}

std::string TextOf(const Number& number) {
  switch (number.kind) {
    case Number::Kind::kSigned:
      return absl::StrCat(number.whole);
    case Number::Kind::kUnsigned:
      return absl::StrCat(number.natural);
    case Number::Kind::kComplex:
      return absl::StrCat(number.real, number.imag < 0 ? "" : "+", number.imag, "i");
    case Number::Kind::kReal:
      break;
  }
  return absl::StrCat(number.real);
}

// Whether a cast to T of the whole part of `value` is defined.
template <typename T>
bool IsInRange(double value) {
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);  // The first one above the range.
  const double whole = std::trunc(value);
  return whole < limit && whole >= (std::is_signed_v<T> ? -limit : 0.0);
}

// These set `value` and return whether `number` is in the range of its type.
template <typename T>
bool Convert(const Number& number, T* value) {
  if (number.kind == Number::Kind::kComplex) return false;
  if constexpr (std::is_same_v<T, bool>) {
    *value = number.real != 0 || number.whole != 0 || number.natural != 0;
    return true;
  } else if constexpr (std::is_floating_point_v<T>) {
    double wide = number.real;
    if (number.kind == Number::Kind::kSigned) wide = static_cast<double>(number.whole);
    if (number.kind == Number::Kind::kUnsigned) wide = static_cast<double>(number.natural);
    if (std::isfinite(wide) && std::abs(wide) > static_cast<double>(std::numeric_limits<T>::max())) return false;
    *value = static_cast<T>(wide);
    return true;
  } else {
    using Limits = std::numeric_limits<T>;
    if (number.kind == Number::Kind::kReal && !IsInRange<T>(number.real)) return false;
    if (number.kind == Number::Kind::kSigned && (number.whole < Limits::min() || number.whole > Limits::max())) {
      return false;
    }
    if (number.kind == Number::Kind::kUnsigned && number.natural > static_cast<uint64_t>(Limits::max())) return false;
    *value = number.kind == Number::Kind::kReal     ? static_cast<T>(number.real)
             : number.kind == Number::Kind::kSigned ? static_cast<T>(number.whole)
                                                    : static_cast<T>(number.natural);
    return true;
  }
}
template <typename T>
bool Convert(const Number& number, std::complex<T>* value) {
  Number real = number, imag;
  real.kind = number.kind == Number::Kind::kComplex ? Number::Kind::kReal : number.kind;
  imag.real = number.imag;
  T parts[2];
  if (!Convert(real, &parts[0]) || !Convert(imag, &parts[1])) return false;
  *value = {parts[0], parts[1]};
  return true;
}

// Calls `visit` with a value of the C++ type of `type`; false unless that is a type of numbers.
template <typename Visit>
bool VisitNumberType(DType type, Visit visit) {
  switch (type) {
    case DType::kFloat:
      return visit(0.0f), true;
    case DType::kDouble:
      return visit(0.0), true;
    case DType::kHalf:
      return visit(Half()), true;
    case DType::kBFloat16:
      return visit(BFloat16()), true;
    case DType::kComplex64:
      return visit(std::complex<float>()), true;
    case DType::kComplex128:
      return visit(std::complex<double>()), true;
    case DType::kBool:
      return visit(false), true;
    case DType::kInt8:
      return visit(int8_t()), true;
    case DType::kInt16:
      return visit(int16_t()), true;
    case DType::kInt32:
      return visit(int32_t()), true;
    case DType::kInt64:
      return visit(int64_t()), true;
    case DType::kUInt8:
      return visit(uint8_t()), true;
    case DType::kUInt16:
      return visit(uint16_t()), true;
    case DType::kUInt32:
      return visit(uint32_t()), true;
    case DType::kUInt64:
      return visit(uint64_t()), true;
    default:
      return false;
  }
}

absl::Status NoNumbers(DType type) {
  return Error(ErrorCode::kTensorDType)
      .Text("a number cannot be converted to or from this type")
      .Found(DTypeName(type));
}

// Stores `number` as an element; false if the type cannot hold it.
template <typename T>
bool ToElement(double number, T* element) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    *element = T(static_cast<float>(number));
  } else if constexpr (std::is_same_v<T, bool>) {
    *element = number != 0;
    return number == 0 || number == 1;
  } else if constexpr (std::is_integral_v<T>) {
    if (!IsInRange<T>(number) || number != std::trunc(number)) return false;
    *element = static_cast<T>(number);
  } else if constexpr (std::is_floating_point_v<T>) {
    *element = static_cast<T>(number);
  } else {
    *element = T(static_cast<typename T::value_type>(number));
  }
  return true;
}

// A tensor whose element i is number_of(i).
template <typename NumberOfElement>
absl::StatusOr<Tensor> MakeFilled(DType type, const Shape& shape, NumberOfElement number_of) {
  SLUICE_ASSIGN_OR_RETURN(Tensor made, Tensor::Make(type, shape));
  absl::Status status;
  const bool has_numbers = VisitNumberType(type, [&](auto zero) {
    const auto elements = made.flat<decltype(zero)>();
    for (size_t i = 0; i < elements.size(); ++i) {
      if (ToElement(number_of(i), &elements[i])) continue;
      status =
          Error(ErrorCode::kTensorDType)
              .Text(absl::StrCat(number_of(i), " is not ", DTypeName(type)[0] == 'i' ? "an " : "a ", DTypeName(type)));
      return;
    }
  });
  if (!has_numbers) return NoNumbers(type);
  if (!status.ok()) return status;
  return made;
}

}  // namespace

absl::Status UnevenLists() {
  return Error(ErrorCode::kTensorShape).Text("lists beside each other differ in length or depth");
}

absl::StatusOr<Tensor> TensorOfNumbers(DType type, const Shape& shape, absl::Span<const double> numbers) {
  if (shape.num_elements() != static_cast<int64_t>(numbers.size())) {
    return Error(ErrorCode::kTensorShape)
        .Text("the shape has another number of elements than there are numbers")
        .Found(absl::StrCat(numbers.size()))
        .Expected(shape.ToString());
  }
  return MakeFilled(type, shape, [&](size_t i) { return numbers[i]; });
}

absl::StatusOr<Tensor> FilledTensor(DType type, const Shape& shape, double number) {
  return MakeFilled(type, shape, [&](size_t) { return number; });
}

template <typename T>
absl::StatusOr<std::vector<T>> ElementsAs(const Tensor& tensor) {
  std::vector<T> numbers(static_cast<size_t>(tensor.num_elements()));
  absl::Status status;
  const bool has_numbers = VisitNumberType(tensor.dtype(), [&](auto zero) {
    const auto elements = tensor.flat<decltype(zero)>();
    for (size_t i = 0; i < elements.size(); ++i) {
      const Number number = NumberOf(elements[i]);
      T converted{};
      if (!Convert(number, &converted)) {
        status = Error(ErrorCode::kTensorDType)
                     .Text(absl::StrCat("element ", i, " cannot be converted without overflow"))
                     .Found(TextOf(number))
                     .Expected(DTypeName(DTypeOf<T>::value));
        return;
      }
      numbers[i] = converted;
    }
  });
  if (!has_numbers) return NoNumbers(tensor.dtype());
  if (!status.ok()) return status;
  return numbers;
}

template <typename T>
absl::StatusOr<T> ElementAs(const Tensor& tensor) {
  if (tensor.has_value() && tensor.num_elements() != 1) {
    return Error(ErrorCode::kTensorShape)
        .Text("only a tensor of one element is a number")
        .Found(tensor.shape().ToString());
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<T> numbers, ElementsAs<T>(tensor));
  return static_cast<T>(numbers[0]);
}

#define SLUICE_INSTANTIATE(T)                             \
  template absl::StatusOr<T> ElementAs<T>(const Tensor&); \
  template absl::StatusOr<std::vector<T>> ElementsAs<T>(const Tensor&)
SLUICE_INSTANTIATE(float);
SLUICE_INSTANTIATE(double);
SLUICE_INSTANTIATE(int32_t);
SLUICE_INSTANTIATE(int64_t);
SLUICE_INSTANTIATE(bool);
SLUICE_INSTANTIATE(std::complex<float>);
SLUICE_INSTANTIATE(std::complex<double>);
#undef SLUICE_INSTANTIATE

}  // namespace sluice

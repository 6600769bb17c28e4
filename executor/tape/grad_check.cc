#include "executor/tape/grad_check.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/float16.h"

namespace sluice {
namespace {

bool IsReal(DType type) {
  return type == DType::kFloat || type == DType::kDouble || type == DType::kHalf || type == DType::kBFloat16;
}

absl::Status WrongShape(ErrorCode code, absl::string_view function, size_t index, const Shape& found,
                        const Shape& expected) {
  return Error(code)
      .Node(function, function)
      .Text(absl::StrCat("gave an invalid gradient at index ", index))
      .Found(found.ToString())
      .Expected(absl::StrCat("a shape compatible with ", expected.ToString()));
}

// Finds the axes along which `from` was broadcast to `to`; false if it cannot have been.
bool FindRepeatedAxes(const Shape& from, const Shape& to, std::vector<int32_t>* axes) {
  const int added = to.rank() - from.rank();
  if (added < 0) return false;
  for (int i = 0; i < to.rank(); ++i) {
    if (i < added) {
      axes->push_back(i);
    } else if (from.dim(i - added) != to.dim(i)) {
      if (from.dim(i - added) != 1) return false;
      axes->push_back(i);
    }
  }
  return true;
}

absl::Status CallOne(TapeCore& core, absl::string_view op, const EagerOp::Attrs& attrs,
                     absl::Span<const OpInput> inputs, TapeValue* result) {
  std::vector<TapeValue> outputs;
  SLUICE_RETURN_IF_ERROR(CallOp(core, op, attrs, inputs, &outputs));
  *result = std::move(outputs[0]);
  return absl::OkStatus();
}

absl::Status SumTo(TapeCore& core, const Shape& shape, const std::vector<int32_t>& axes, TapeValue* grad) {
  const Tensor axes_value = Tensor::Vector<int32_t>(axes);
  SLUICE_RETURN_IF_ERROR(CallOne(core, "Sum", {{"keep_dims", false}}, {OpInput::Of(*grad), {&axes_value}}, grad));
  const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  const Tensor dims_value = Tensor::Vector<int64_t>(dims);
  return CallOne(core, "Reshape", {}, {OpInput::Of(*grad), {&dims_value}}, grad);
}

template <typename T>
bool AnyNan(const Tensor& tensor) {
  const absl::Span<const T> values = tensor.flat<T>();
  return std::any_of(values.begin(), values.end(), [](T x) { return std::isnan(static_cast<float>(x)); });
}

template <typename T>
bool AnyComplexNan(const Tensor& tensor) {
  const absl::Span<const std::complex<T>> values = tensor.flat<std::complex<T>>();
  return std::any_of(values.begin(), values.end(),
                     [](const std::complex<T>& x) { return std::isnan(x.real()) || std::isnan(x.imag()); });
}

}  // namespace

absl::Status CheckGrad(TapeCore& core, const GradientMeta& meta, absl::string_view function, size_t index,
                       TapeValue* grad) {
  if (!grad->is_set() || meta.dtype == DType::kInvalid) return absl::OkStatus();
  if (grad->value.shape() != meta.shape) {
    std::vector<int32_t> axes;
    if (!FindRepeatedAxes(meta.shape, grad->value.shape(), &axes)) {
      return WrongShape(ErrorCode::kOpShape, function, index, grad->value.shape(), meta.shape);
    }
    SLUICE_RETURN_IF_ERROR(SumTo(core, meta.shape, axes, grad));
  }
  if (grad->value.dtype() == meta.dtype) return absl::OkStatus();
  if (!IsReal(grad->value.dtype()) && IsComplex(grad->value.dtype()) != IsComplex(meta.dtype)) {
    return Error(ErrorCode::kInputType)
        .Node(function, function)
        .Text(absl::StrCat("gave an invalid gradient at index ", index))
        .Found(DTypeName(grad->value.dtype()))
        .Expected(DTypeName(meta.dtype));
  }
  return CallOne(core, "Cast", {{"DstT", meta.dtype}}, {OpInput::Of(*grad)}, grad);
}

absl::Status CheckReplacement(const GradientMeta& meta, absl::string_view function, size_t index, const Tensor& grad) {
  if (grad.shape() != meta.shape) {
    return WrongShape(ErrorCode::kTapeHook, function, index, grad.shape(), meta.shape);
  }
  if (grad.dtype() == meta.dtype) return absl::OkStatus();
  return Error(ErrorCode::kTapeHook)
      .Node(function, function)
      .Text(absl::StrCat("gave an invalid gradient at index ", index))
      .Found(DTypeName(grad.dtype()))
      .Expected(DTypeName(meta.dtype));
}

absl::StatusOr<Tensor> FilledGrad(const GradientMeta& meta, double value) {
  if (meta.dtype == DType::kVariant) {
    return Error(ErrorCode::kTapeNoDerivative).Text("a list or another variant has no zeros that are known without it");
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor filled, Tensor::MakeZeros(meta.dtype, meta.shape));
  if (value == 0) return filled;
  const auto fill = [&](auto one) {
    const auto values = filled.flat<decltype(one)>();
    std::fill(values.begin(), values.end(), one);
  };
  switch (meta.dtype) {
    case DType::kFloat:
      fill(static_cast<float>(value));
      return filled;
    case DType::kDouble:
      fill(value);
      return filled;
    case DType::kHalf:
      fill(Half(static_cast<float>(value)));
      return filled;
    case DType::kBFloat16:
      fill(BFloat16(static_cast<float>(value)));
      return filled;
    case DType::kComplex64:
      fill(std::complex<float>(static_cast<float>(value)));
      return filled;
    case DType::kComplex128:
      fill(std::complex<double>(value));
      return filled;
    default:
      return Error(ErrorCode::kInputType).Text("is of a type that has no gradient").Found(DTypeName(meta.dtype));
  }
}

bool HasNan(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return AnyNan<float>(tensor);
    case DType::kDouble:
      return AnyNan<double>(tensor);
    case DType::kHalf:
      return AnyNan<Half>(tensor);
    case DType::kBFloat16:
      return AnyNan<BFloat16>(tensor);
    case DType::kComplex64:
      return AnyComplexNan<float>(tensor);
    case DType::kComplex128:
      return AnyComplexNan<double>(tensor);
    default:
      return false;
  }
}

}  // namespace sluice

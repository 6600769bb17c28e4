#include "kernels/state/tensor_array.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/state/tensor_update.h"

namespace sluice {
namespace {

absl::Status Misuse(int64_t index, absl::string_view text) {
  return Error(ErrorCode::kTensorArray).Text(absl::StrCat("element ", index, " ", text));
}

absl::Status BadIndex(int64_t index, size_t size) {
  return Error(ErrorCode::kTensorArrayIndex).Text(absl::StrCat("index ", index, ", size ", size));
}

absl::Status BadShape(int64_t index, const std::string& found, const std::string& expected) {
  return Error(ErrorCode::kTensorArray)
      .Found(found)
      .Expected(expected)
      .Text(absl::StrCat("element ", index, " has another shape than the array allows"));
}

absl::StatusOr<Tensor> Zeros(DType dtype, const Shape& shape, Allocator& allocator) {
  return IsTrivial(dtype) ? Tensor::MakeZeros(dtype, shape, allocator) : Tensor::Make(dtype, shape, allocator);
}

}  // namespace

TensorArray::TensorArray(std::string name, Options options, Allocator& allocator)
    : StepResource(kTypeName, std::move(name)),
      options_(std::move(options)),
      element_shape_(options_.element_shape),
      elements_(static_cast<size_t>(options_.size), ContainerAllocator<Element>(allocator)),
      may_grow_(options_.dynamic_size) {}

absl::Status TensorArray::CheckOpen() const {
  if (!is_closed_) return absl::OkStatus();
  return Error(ErrorCode::kTensorArray).Found(name()).Text("the array was closed");
}

absl::Status TensorArray::CheckDType(DType wanted) const {
  if (wanted == dtype()) return absl::OkStatus();
  return Error(ErrorCode::kTensorArray)
      .Found(DTypeName(wanted))
      .Expected(DTypeName(dtype()))
      .Text("the array holds another dtype");
}

absl::Status TensorArray::AddTo(Element& element, Tensor value, Allocator& allocator, Tensor* old) {
  if (element.shape != value.shape()) {
    return Error(ErrorCode::kTensorArray)
        .Found(value.shape().ToString())
        .Expected(element.shape.ToString())
        .Text("gradients that are added up differ in shape");
  }
  if (!element.value.has_value()) {
    element.value = std::move(value);
    return absl::OkStatus();
  }
  if (!IsFloating(dtype()) && !IsComplex(dtype()) && !IsInteger(dtype())) {
    return Error(ErrorCode::kTensorArray).Found(DTypeName(dtype())).Expected("numbers, which can be added up");
  }
  return UpdateTensor(element.value, DenseUpdate::kAdd, std::move(value), allocator, old);
}

absl::Status TensorArray::WriteOne(int64_t index, Tensor& value, Allocator& allocator, Tensor* old) {
  if (index < 0 || (index >= static_cast<int64_t>(elements_.size()) && (!may_grow_ || index >= kMaxSize))) {
    return BadIndex(index, elements_.size());
  }
  SLUICE_RETURN_IF_ERROR(CheckDType(value.dtype()));
  if (!element_shape_.IsCompatibleWith(value.shape())) {
    return BadShape(index, value.shape().ToString(), element_shape_.ToString());
  }
  if (options_.identical_element_shapes && !element_shape_.IsFullyDefined()) {
    element_shape_ = PartialShape::From(value.shape());
  }
  if (index >= static_cast<int64_t>(elements_.size())) elements_.resize(static_cast<size_t>(index) + 1);
  Element& element = elements_[static_cast<size_t>(index)];
  if (element.was_read) return Misuse(index, "was read already and cannot be written any more");
  if (element.is_written) {
    if (!is_gradient()) return Misuse(index, "was written before");
    return AddTo(element, std::move(value), allocator, old);
  }
  element.shape = value.shape();
  element.value = std::move(value);
  element.is_written = true;
  return absl::OkStatus();
}

absl::Status TensorArray::Write(absl::Span<const int64_t> indices, absl::Span<Tensor> values, Allocator& allocator) {
  SLUICE_DCHECK(indices.size() == values.size());
  Tensor old;  // The last one is freed outside of the lock.
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  for (size_t i = 0; i < indices.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(WriteOne(indices[i], values[i], allocator, &old));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> TensorArray::ReadOne(int64_t index, Allocator& allocator) {
  if (index >= static_cast<int64_t>(elements_.size()) && is_gradient() && index < kMaxSize &&
      element_shape_.IsFullyDefined()) {
    // The op that would have written this element is not in the gradient's graph: it reads as zeros.
    elements_.resize(static_cast<size_t>(index) + 1);
  }
  if (index < 0 || index >= static_cast<int64_t>(elements_.size())) return BadIndex(index, elements_.size());
  Element& element = elements_[static_cast<size_t>(index)];
  if (element.was_cleared) return Misuse(index, "was read before and is gone: clear_after_read is set");
  if (!element.is_written) {
    if (!element_shape_.IsFullyDefined()) {
      return Error(ErrorCode::kTensorArray)
          .Found(absl::StrCat("elements of shape ", element_shape_.ToString()))
          .Expected("a fully known shape, to give zeros")
          .Text(absl::StrCat("element ", index, " was never written"));
    }
    element.shape = element_shape_.ToShape();
    element.is_written = true;
  }
  Tensor value = element.value;
  if (!value.has_value()) {
    SLUICE_ASSIGN_OR_RETURN(value, Zeros(dtype(), element.shape, allocator));
    if (!options_.clear_after_read) element.value = value;
  }
  element.was_read = true;
  if (options_.clear_after_read) {
    element.value = Tensor();
    element.was_cleared = true;
  }
  return value;
}

absl::StatusOr<std::vector<Tensor>> TensorArray::Read(absl::Span<const int64_t> indices, Allocator& allocator) {
  std::vector<Tensor> values;
  values.reserve(indices.size());
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  for (const int64_t index : indices) {
    SLUICE_ASSIGN_OR_RETURN(Tensor value, ReadOne(index, allocator));
    values.push_back(std::move(value));
  }
  return values;
}

absl::StatusOr<int64_t> TensorArray::Size() const {
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  return static_cast<int64_t>(elements_.size());
}

absl::Status TensorArray::CheckOrGrowSize(int64_t needed) {
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  const int64_t size = static_cast<int64_t>(elements_.size());
  if (needed > size && may_grow_ && needed <= kMaxSize) {
    elements_.resize(static_cast<size_t>(needed));
  } else if (needed != size) {
    return Error(ErrorCode::kTensorArray)
        .Text(absl::StrCat(needed, " values for an array of ", size, " elements that does not grow"));
  }
  size_to_concat_ = needed;
  return absl::OkStatus();
}

absl::StatusOr<int64_t> TensorArray::SizeToConcat() const {
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  return is_gradient() ? size_to_concat_ : static_cast<int64_t>(elements_.size());
}

absl::StatusOr<PartialShape> TensorArray::MergeElementShape(const PartialShape& shape) {
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  absl::StatusOr<PartialShape> merged = element_shape_.MergeWith(shape);
  if (!merged.ok()) {
    return Error(ErrorCode::kTensorArray)
        .Found(shape.ToString())
        .Expected(element_shape_.ToString())
        .Text("the array's elements have another shape");
  }
  element_shape_ = *merged;
  return element_shape_;
}

absl::StatusOr<CountedPtr<TensorArray>> TensorArray::MakeGradient(const std::string& source,
                                                                  const Shape& prefix) const {
  if (options_.gradient_level == kMaxGradientLevel) {
    return Error(ErrorCode::kOpUnimplemented)
        .Text(absl::StrCat("gradients of gradients are not made more than ", kMaxGradientLevel, " deep"));
  }
  const auto prefixed = [&prefix](absl::Span<const int64_t> dims) {
    std::vector<int64_t> all(prefix.dims().begin(), prefix.dims().end());
    all.insert(all.end(), dims.begin(), dims.end());
    return all;
  };
  Options options;
  options.dtype = dtype();
  options.size = static_cast<int64_t>(elements_.size());
  options.identical_element_shapes = options_.identical_element_shapes;
  options.gradient_level = options_.gradient_level + 1;
  // An array of gradients takes many writes of one element, and each has the gradient of their sum. TensorFlow fails
  // there.
  options.clear_after_read = !is_gradient();
  if (element_shape_.has_rank()) {
    SLUICE_ASSIGN_OR_RETURN(options.element_shape, PartialShape::Make(prefixed(element_shape_.dims())));
  }
  CountedPtr<TensorArray> gradient = MakeCounted<TensorArray>(absl::StrCat(name(), "@", source), std::move(options),
                                                              elements_.get_allocator().allocator());
  MutexLock lock(&gradient->mu_);
  gradient->size_to_concat_ = size_to_concat_;
  for (size_t i = 0; i < elements_.size(); ++i) {
    if (!elements_[i].is_written) continue;
    SLUICE_ASSIGN_OR_RETURN(gradient->elements_[i].shape, Shape::Make(prefixed(elements_[i].shape.dims())));
    gradient->elements_[i].is_written = true;
  }
  return gradient;
}

absl::StatusOr<CountedPtr<TensorArray>> TensorArray::Gradient(const std::string& source, const Shape& prefix) {
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckOpen());
  may_grow_ = false;
  const auto made = gradients_.find(source);
  if (made != gradients_.end()) return made->second;
  SLUICE_ASSIGN_OR_RETURN(CountedPtr<TensorArray> gradient, MakeGradient(source, prefix));
  gradients_[source] = gradient;
  return gradient;
}

void TensorArray::Close() {
  std::optional<Table> ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  is_closed_ = true;
  ended.emplace(std::move(elements_));
  elements_.clear();
}

void TensorArray::CloseForGood() {
  Close();
  MutexLock lock(&mu_);
  for (const auto& [source, gradient] : gradients_) gradient->CloseForGood();
}

std::string TensorArray::DebugString() const {
  MutexLock lock(&mu_);
  return absl::StrCat(kTypeName, " ", DTypeName(dtype()), " of ", elements_.size(), is_closed_ ? ", closed" : "");
}

}  // namespace sluice

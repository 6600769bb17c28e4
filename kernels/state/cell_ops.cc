#include "kernels/state/cell_ops.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/element_math.h"

namespace sluice {
namespace {

absl::Status ShapesDiffer(absl::string_view found, absl::string_view expected) {
  return Error(ErrorCode::kOpShapes).Found(found).Expected(expected).Text("value and variable differ in shape");
}

// kOpShapes unless `value` has the shape that the cell has, or is declared to have before its first value.
absl::Status CheckSameShape(const RefCell& cell, const Tensor& value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(cell.mu) {
  if (cell.tensor.has_value() && cell.tensor.shape() != value.shape()) {
    return ShapesDiffer(value.shape().ToString(), cell.tensor.shape().ToString());
  }
  if (!cell.tensor.has_value() && !cell.shape().IsCompatibleWith(value.shape())) {
    return ShapesDiffer(value.shape().ToString(), cell.shape().ToString());
  }
  return absl::OkStatus();
}

// Overwrites the cell's buffer where `value` fits into it. See Note [References alias].
absl::Status Overwrite(RefCell& cell, const Tensor& value, Allocator& allocator)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(cell.mu) {
  if (!cell.tensor.has_value() || cell.tensor.num_elements() != value.num_elements()) {
    SLUICE_ASSIGN_OR_RETURN(cell.tensor, BufferedCopyOf(value, allocator));
    return absl::OkStatus();
  }
  if (cell.tensor.shape() != value.shape()) {
    SLUICE_ASSIGN_OR_RETURN(cell.tensor, cell.tensor.Reshaped(value.shape()));
  }
  CopyElements(value, cell.tensor);
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<Tensor> CountUpAs(Tensor& value, int64_t limit, VariableReadMode mode) {
  const T before = value.flat<T>()[0];
  if (static_cast<int64_t>(before) >= limit) {
    return Error(ErrorCode::kOpRange).Text(absl::StrCat("reached the limit ", limit));
  }
  const T after = AddElements()(before, T{1});  // Wraps where the limit is beyond the numbers of T.
  if (mode == VariableReadMode::kAlias) {
    value.flat<T>()[0] = after;
  } else {
    value = Tensor::Scalar(after);
  }
  return Tensor::Scalar(before);
}

}  // namespace

absl::StatusOr<RefCell*> InputCell(const KernelContext& context, int i) {
  RefCell* const cell = context.input_ref(i);
  if (cell == nullptr) {
    return Error(ErrorCode::kRefExpected).Input(i).Text("is not a reference to a variable");
  }
  return cell;
}

absl::Status CheckSameType(const Tensor& value, const Tensor& update) {
  if (value.dtype() == update.dtype()) return absl::OkStatus();
  return Error(ErrorCode::kResourceType)
      .Found(DTypeName(update.dtype()))
      .Expected(DTypeName(value.dtype()))
      .Text("the variable holds another dtype");
}

absl::Status NotInitialized() {
  return Error(ErrorCode::kUninitialized).Input(0).Text("is a variable that has no value yet");
}

absl::Status StoreValue(RefCell& cell, Tensor value, bool same_shape, Allocator& allocator, VariableReadMode mode) {
  if (value.dtype() != cell.dtype()) {
    return Error(ErrorCode::kResourceType)
        .Found(DTypeName(value.dtype()))
        .Expected(DTypeName(cell.dtype()))
        .Text("the variable holds another dtype");
  }
  if (mode == VariableReadMode::kAlias) {
    MutexLock lock(&cell.mu);
    if (same_shape) SLUICE_RETURN_IF_ERROR(CheckSameShape(cell, value));
    return Overwrite(cell, value, allocator);
  }
  if (IsWorthCopying(value)) {
    SLUICE_ASSIGN_OR_RETURN(value, CopyOf(value, allocator));
  }
  // The value before is freed with `value`, outside of the lock.
  MutexLock lock(&cell.mu);
  if (same_shape) SLUICE_RETURN_IF_ERROR(CheckSameShape(cell, value));
  std::swap(cell.tensor, value);
  return absl::OkStatus();
}

absl::Status UpdateDense(RefCell& cell, DenseUpdate update, Tensor delta, Allocator& allocator, VariableReadMode mode) {
  Tensor old;  // Freed outside of the lock.
  MutexLock lock(&cell.mu);
  if (!cell.tensor.has_value()) return NotInitialized();
  SLUICE_RETURN_IF_ERROR(CheckSameType(cell.tensor, delta));
  if (cell.tensor.shape() != delta.shape()) {
    return ShapesDiffer(delta.shape().ToString(), cell.tensor.shape().ToString());
  }
  if (mode == VariableReadMode::kAlias) {
    UpdateInPlace(cell.tensor, update, delta);
    return absl::OkStatus();
  }
  return UpdateTensor(cell.tensor, update, std::move(delta), allocator, &old);
}

absl::Status ChangeValue(RefCell& cell, Allocator& allocator, VariableReadMode mode,
                         absl::FunctionRef<absl::Status(Tensor& value)> change) {
  Tensor old;
  MutexLock lock(&cell.mu);
  if (!cell.tensor.has_value()) return NotInitialized();
  if (mode == VariableReadMode::kSnapshot && !cell.tensor.IsUniquelyOwned()) {
    SLUICE_ASSIGN_OR_RETURN(Tensor copy, CopyOf(cell.tensor, allocator));
    old = std::exchange(cell.tensor, std::move(copy));
  }
  return change(cell.tensor);
}

absl::StatusOr<Tensor> CountUp(RefCell& cell, int64_t limit, VariableReadMode mode) {
  MutexLock lock(&cell.mu);
  if (!cell.tensor.has_value()) return NotInitialized();
  if (!cell.tensor.shape().IsScalar()) {
    return Error(ErrorCode::kOpShape).Found(cell.tensor.shape().ToString()).Expected("a scalar to count with");
  }
  return cell.tensor.dtype() == DType::kInt32 ? CountUpAs<int32_t>(cell.tensor, limit, mode)
                                              : CountUpAs<int64_t>(cell.tensor, limit, mode);
}

}  // namespace sluice

#include "kernels/state/cell_ops.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

absl::Status ShapesDiffer(absl::string_view found, absl::string_view expected) {
  return Error(ErrorCode::kOpShapes).Found(found).Expected(expected).Text("value and variable differ in shape");
}

template <typename T>
absl::StatusOr<Tensor> CountUpAs(Tensor& value, int64_t limit) {
  const T before = value.flat<T>()[0];
  if (static_cast<int64_t>(before) >= limit) {
    return Error(ErrorCode::kOpRange).Text(absl::StrCat("reached the limit ", limit));
  }
  value = Tensor::Scalar(static_cast<T>(before + 1));
  return Tensor::Scalar(before);
}

}  // namespace

absl::StatusOr<RefCell*> InputCell(const KernelContext& context, int i) {
  RefCell* const cell = context.input_ref(i);
  if (cell == nullptr) {
    return Error(ErrorCode::kRefExpected).Input(i).Text("is no reference to a variable");
  }
  return cell;
}

absl::Status NotInitialized() { return Error(ErrorCode::kUninitialized).Text("the variable has no value yet"); }

absl::Status StoreValue(RefCell& cell, Tensor value, bool same_shape, Allocator& allocator) {
  if (value.dtype() != cell.dtype()) {
    return Error(ErrorCode::kResourceType)
        .Found(DTypeName(value.dtype()))
        .Expected(DTypeName(cell.dtype()))
        .Text("the variable holds another dtype");
  }
  if (IsWorthCopying(value)) {
    SLUICE_ASSIGN_OR_RETURN(value, CopyOf(value, allocator));
  }
  // The value before is freed with `value`, outside of the lock.
  MutexLock lock(&cell.mu);
  if (same_shape) {
    if (cell.tensor.has_value() && cell.tensor.shape() != value.shape()) {
      return ShapesDiffer(value.shape().ToString(), cell.tensor.shape().ToString());
    }
    if (!cell.tensor.has_value() && !cell.shape().IsCompatibleWith(value.shape())) {
      return ShapesDiffer(value.shape().ToString(), cell.shape().ToString());
    }
  }
  std::swap(cell.tensor, value);
  return absl::OkStatus();
}

absl::Status UpdateDense(RefCell& cell, DenseUpdate update, Tensor delta, Allocator& allocator) {
  Tensor old;  // Freed outside of the lock.
  MutexLock lock(&cell.mu);
  if (!cell.tensor.has_value()) return NotInitialized();
  if (cell.tensor.shape() != delta.shape()) {
    return ShapesDiffer(delta.shape().ToString(), cell.tensor.shape().ToString());
  }
  return UpdateTensor(cell.tensor, update, std::move(delta), allocator, &old);
}

absl::Status ChangeValue(RefCell& cell, Allocator& allocator, absl::FunctionRef<absl::Status(Tensor& value)> change) {
  Tensor old;
  MutexLock lock(&cell.mu);
  if (!cell.tensor.has_value()) return NotInitialized();
  if (!cell.tensor.IsUniquelyOwned()) {
    SLUICE_ASSIGN_OR_RETURN(Tensor copy, CopyOf(cell.tensor, allocator));
    old = std::exchange(cell.tensor, std::move(copy));
  }
  return change(cell.tensor);
}

absl::StatusOr<Tensor> CountUp(RefCell& cell, int64_t limit) {
  MutexLock lock(&cell.mu);
  if (!cell.tensor.has_value()) return NotInitialized();
  if (!cell.tensor.shape().IsScalar()) {
    return Error(ErrorCode::kOpShape).Found(cell.tensor.shape().ToString()).Expected("a scalar to count with");
  }
  return cell.tensor.dtype() == DType::kInt32 ? CountUpAs<int32_t>(cell.tensor, limit)
                                              : CountUpAs<int64_t>(cell.tensor, limit);
}

}  // namespace sluice

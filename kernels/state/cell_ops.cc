#include "kernels/state/cell_ops.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "kernels/dispatch.h"
#include "kernels/state/element_math.h"

namespace sluice {
namespace {

// Whether keeping `value` would keep much else alive, or memory that belongs to somebody who may change it.
bool IsWorthCopying(const Tensor& value) {
  const Buffer* const buffer = value.buffer();
  return buffer != nullptr && (buffer->allocator() == nullptr || buffer->bytes() / 2 > value.total_bytes());
}

// a op b, element by element. `out` may be `a` or `b`.
template <typename T, typename Op>
void Combine(const Tensor& a, const Tensor& b, Tensor& out, Op op) {
  const T* const x = a.flat<T>().data();
  const T* const y = b.flat<T>().data();
  T* const z = out.flat<T>().data();
  const int64_t n = a.num_elements();
  for (int64_t i = 0; i < n; ++i) z[i] = op(x[i], y[i]);
}

void Combine(const Tensor& a, const Tensor& b, Tensor& out, DenseUpdate update) {
  const bool done = DispatchDType<NumberCppTypes>(a.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    if (update == DenseUpdate::kAdd) {
      Combine<T>(a, b, out, AddElements());
    } else {
      Combine<T>(a, b, out, SubtractElements());
    }
  });
  SLUICE_DCHECK(done);
  static_cast<void>(done);
}

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

absl::StatusOr<Tensor> CopyOf(const Tensor& value, Allocator& allocator) {
  if (value.IsInline()) return value;
  SLUICE_ASSIGN_OR_RETURN(Tensor copy, Tensor::Make(value.dtype(), value.shape(), allocator));
  const auto copy_elements = [&](auto element) {
    using T = decltype(element);
    const absl::Span<const T> from = value.flat<T>();
    std::copy(from.begin(), from.end(), copy.flat<T>().begin());
  };
  switch (value.dtype()) {
    case DType::kString:
      copy_elements(TString());
      break;
    case DType::kResource:
      copy_elements(ResourceHandle());
      break;
    case DType::kVariant:
      copy_elements(Variant());
      break;
    default:
      std::memcpy(copy.mutable_raw_data(), value.raw_data(), value.total_bytes());
  }
  return copy;
}

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
  Tensor& value = cell.tensor;
  if (!value.has_value()) return NotInitialized();
  if (value.shape() != delta.shape()) return ShapesDiffer(delta.shape().ToString(), value.shape().ToString());
  if (value.IsUniquelyOwned()) {
    Combine(value, delta, value, update);
  } else if (!delta.IsInline() && delta.IsUniquelyOwned() && !IsWorthCopying(delta)) {
    Combine(value, delta, delta, update);
    old = std::exchange(value, std::move(delta));
  } else {
    SLUICE_ASSIGN_OR_RETURN(Tensor fresh, Tensor::Make(value.dtype(), value.shape(), allocator));
    Combine(value, delta, fresh, update);
    old = std::exchange(value, std::move(fresh));
  }
  return absl::OkStatus();
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

#include "kernels/state/tensor_update.h"

#include <algorithm>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/array/moved_types.h"
#include "kernels/dispatch.h"
#include "kernels/element_math.h"

namespace sluice {
namespace {

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

}  // namespace

bool IsWorthCopying(const Tensor& value) {
  const Buffer* const buffer = value.buffer();
  return buffer != nullptr && (buffer->allocator() == nullptr || buffer->bytes() / 2 > value.total_bytes());
}

void CopyElements(const Tensor& from, Tensor& to) {
  DispatchMoved(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    std::copy_n(Elements<T>(from), from.num_elements(), Elements<T>(to));
  });
}

absl::StatusOr<Tensor> CopyOf(const Tensor& value, Allocator& allocator) {
  if (value.IsInline()) return value;
  SLUICE_ASSIGN_OR_RETURN(Tensor copy, Tensor::Make(value.dtype(), value.shape(), allocator));
  CopyElements(value, copy);
  return copy;
}

absl::StatusOr<Tensor> BufferedCopyOf(const Tensor& value, Allocator& allocator) {
  Buffer* const buffer = Buffer::New(value.dtype(), value.num_elements(), allocator);
  if (buffer == nullptr) return Error(ErrorCode::kOutOfMemory).Text("there is no memory for the variable's value");
  SLUICE_ASSIGN_OR_RETURN(Tensor copy, Tensor::FromBuffer(value.dtype(), value.shape(), buffer, 0));
  CopyElements(value, copy);
  return copy;
}

absl::Status UpdateTensor(Tensor& value, DenseUpdate update, Tensor delta, Allocator& allocator, Tensor* old) {
  if (value.IsUniquelyOwned()) {
    Combine(value, delta, value, update);
  } else if (!delta.IsInline() && delta.IsUniquelyOwned() && !IsWorthCopying(delta)) {
    Combine(value, delta, delta, update);
    *old = std::exchange(value, std::move(delta));
  } else {
    SLUICE_ASSIGN_OR_RETURN(Tensor fresh, Tensor::Make(value.dtype(), value.shape(), allocator));
    Combine(value, delta, fresh, update);
    *old = std::exchange(value, std::move(fresh));
  }
  return absl::OkStatus();
}

void UpdateInPlace(Tensor& value, DenseUpdate update, const Tensor& delta) { Combine(value, delta, value, update); }

}  // namespace sluice

#include "kernels/state/tensor_update.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/status_macros.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "kernels/dispatch.h"
#include "kernels/state/element_math.h"

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

}  // namespace sluice

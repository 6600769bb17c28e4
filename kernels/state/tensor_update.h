#ifndef SLUICE_KERNELS_STATE_TENSOR_UPDATE_H_
#define SLUICE_KERNELS_STATE_TENSOR_UPDATE_H_

// How the values that resources keep are copied and changed. These functions do not lock: the caller must keep other
// threads away from the tensor object meanwhile (its buffer may be shared).

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"

namespace sluice {

// Elements of `value` in memory of their own.
absl::StatusOr<Tensor> CopyOf(const Tensor& value, Allocator& allocator);
// The same, in a buffer even when they would fit into the tensor object: handles to it see later changes.
absl::StatusOr<Tensor> BufferedCopyOf(const Tensor& value, Allocator& allocator);
// Overwrites the elements of `to`. REQUIRES: dtypes and numbers of elements equal.
void CopyElements(const Tensor& from, Tensor& to);

// Whether keeping `value` would keep much else alive, or memory that belongs to somebody who may change it.
bool IsWorthCopying(const Tensor& value);

enum class DenseUpdate { kAdd, kSubtract };

// value += delta or value -= delta: in place if `value` is the only holder of its buffer, else in `delta`'s buffer or a
// new one. `old` receives the former value if its buffer was replaced. REQUIRES: dtypes and shapes equal, dtype of
// kNumberTypes.
absl::Status UpdateTensor(Tensor& value, DenseUpdate update, Tensor delta, Allocator& allocator, Tensor* old);
// The same, always in place, even if the buffer is shared.
void UpdateInPlace(Tensor& value, DenseUpdate update, const Tensor& delta);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_TENSOR_UPDATE_H_

#ifndef SLUICE_KERNELS_STATE_ROWS_H_
#define SLUICE_KERNELS_STATE_ROWS_H_

#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"

namespace sluice {

// Copies all elements of `from` to `to`, from its element `begin` on. REQUIRES: the same dtype, and room.
void PutElements(Tensor& to, int64_t begin, const Tensor& from);

// The elements of `from` from element `begin` on as a tensor of shape `shape`: sharing the buffer where that is cheaper
// than a copy. REQUIRES: they are there.
absl::StatusOr<Tensor> TakeElements(const Tensor& from, int64_t begin, const Shape& shape, Allocator& allocator);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_ROWS_H_

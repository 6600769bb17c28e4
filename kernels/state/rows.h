#ifndef SLUICE_KERNELS_STATE_ROWS_H_
#define SLUICE_KERNELS_STATE_ROWS_H_

#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"

namespace sluice {

// Copies all elements of `from` to `to`, from its element `begin` on. REQUIRES: the same dtype, and room.
void PutElements(Tensor& to, int64_t begin, const Tensor& from);

// Copies the elements of `from` from element `begin` on into a tensor of shape `shape`. Never shares the buffer: it may
// be the memory of a variable that is overwritten later (Note [References alias]). REQUIRES: they are there.
absl::StatusOr<Tensor> CopyElements(const Tensor& from, int64_t begin, const Shape& shape, Allocator& allocator);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_ROWS_H_

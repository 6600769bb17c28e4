#ifndef SLUICE_KERNELS_LINALG_FLOAT_CAST_H_
#define SLUICE_KERNELS_LINALG_FLOAT_CAST_H_

#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"

namespace sluice {

// Converts `from` (half, bfloat16 or float) to floats of the same shape.
absl::StatusOr<Tensor> ToFloats(const Tensor& from, Allocator& allocator);
// Converts `from` (int8 or uint8) to int32.
absl::StatusOr<Tensor> ToInts(const Tensor& from, Allocator& allocator);
// Rounds the floats of `from` to half or bfloat16, into `to`. REQUIRES: as many elements.
void RoundFloats(const Tensor& from, Tensor* to);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_FLOAT_CAST_H_

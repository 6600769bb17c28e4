#ifndef SLUICE_KERNELS_LINALG_FLOAT_CAST_H_
#define SLUICE_KERNELS_LINALG_FLOAT_CAST_H_

#include "absl/status/statusor.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"

namespace sluice {

// `from` (half, bfloat16 or float) as floats of the same shape.
absl::StatusOr<Tensor> ToFloats(const Tensor& from, Allocator& allocator);
// `from` (int8 or uint8) as int32.
absl::StatusOr<Tensor> ToInts(const Tensor& from, Allocator& allocator);
// The floats of `from`, rounded to half or bfloat16, into `to`. REQUIRES: as many elements.
void RoundFloats(const Tensor& from, Tensor* to);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_FLOAT_CAST_H_

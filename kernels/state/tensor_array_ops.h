#ifndef SLUICE_KERNELS_STATE_TENSOR_ARRAY_OPS_H_
#define SLUICE_KERNELS_STATE_TENSOR_ARRAY_OPS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// One element at a time, in all three forms (TensorArray, ...V2, ...V3): TensorArray, Grad, GradWithShape, Write, Read,
// Size, Close.
absl::Span<const KernelDef> TensorArrayKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_TENSOR_ARRAY_OPS_H_

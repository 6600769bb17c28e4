#ifndef SLUICE_KERNELS_LISTS_NESTED_TENSORS_H_
#define SLUICE_KERNELS_LISTS_NESTED_TENSORS_H_

// Sums and zeros of tensors that stand inside of variants: what AddN and ZerosLike do to lists and optionals.

#include "absl/status/statusor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// a + b. kOpShapes for two shapes, kOpValue for dtypes that cannot be added. REQUIRES: equal dtypes.
absl::StatusOr<Tensor> SumOf(const KernelContext& context, const Tensor& a, const Tensor& b);
// Zeros like `value`; kOpValue for a dtype without zeros.
absl::StatusOr<Tensor> ZerosOf(const KernelContext& context, const Tensor& value);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LISTS_NESTED_TENSORS_H_

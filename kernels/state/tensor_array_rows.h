#ifndef SLUICE_KERNELS_STATE_TENSOR_ARRAY_ROWS_H_
#define SLUICE_KERNELS_STATE_TENSOR_ARRAY_ROWS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Many elements of a TensorArray as rows of one tensor, in all three forms: Gather, Scatter, Concat, Split, and the
// early Pack and Unpack.
absl::Span<const KernelDef> TensorArrayRowsKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_TENSOR_ARRAY_ROWS_H_

#ifndef SLUICE_KERNELS_ARRAY_CONCAT_H_
#define SLUICE_KERNELS_ARRAY_CONCAT_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Many tensors into one: Concat, ConcatV2, ConcatOffset, Pack.
absl::Span<const KernelDef> ConcatKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_CONCAT_H_

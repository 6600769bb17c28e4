#ifndef SLUICE_KERNELS_ARRAY_SPLIT_H_
#define SLUICE_KERNELS_ARRAY_SPLIT_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// One tensor into many: Split, SplitV, Unpack. Parts of whole rows share the input's buffer.
absl::Span<const KernelDef> SplitKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_SPLIT_H_

#ifndef SLUICE_KERNELS_ARRAY_WHERE_H_
#define SLUICE_KERNELS_ARRAY_WHERE_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// From conditions to indices and back: Where, OneHot.
absl::Span<const KernelDef> WhereKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_WHERE_H_

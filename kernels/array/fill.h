#ifndef SLUICE_KERNELS_ARRAY_FILL_H_
#define SLUICE_KERNELS_ARRAY_FILL_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops that make elements from nothing but a shape or a rule: Fill, ZerosLike, OnesLike, Empty, Range, LinSpace.
absl::Span<const KernelDef> FillKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_FILL_H_

#ifndef SLUICE_KERNELS_ARRAY_SHAPE_OPS_H_
#define SLUICE_KERNELS_ARRAY_SHAPE_OPS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops that look at a shape or change it, and never touch elements: Shape, ShapeN, Size, Rank, Reshape, ExpandDims,
// Squeeze, EnsureShape. Those that give the elements back hand their buffer on.
absl::Span<const KernelDef> ShapeKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_SHAPE_OPS_H_

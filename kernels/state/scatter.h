#ifndef SLUICE_KERNELS_STATE_SCATTER_H_
#define SLUICE_KERNELS_STATE_SCATTER_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Updates of some rows or elements of a variable: Scatter{Update,Add,Sub,Mul,Div,Min,Max} and
// ScatterNd{Update,Add,Sub,Min,Max} on references, and the same with Resource in front on handles.
absl::Span<const KernelDef> ScatterKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_SCATTER_H_

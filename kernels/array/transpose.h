#ifndef SLUICE_KERNELS_ARRAY_TRANSPOSE_H_
#define SLUICE_KERNELS_ARRAY_TRANSPOSE_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Ops that put axes or indices in another order: Transpose, ConjugateTranspose, InvertPermutation.
absl::Span<const KernelDef> TransposeKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_TRANSPOSE_H_

#ifndef SLUICE_KERNELS_ARRAY_DIAGONAL_H_
#define SLUICE_KERNELS_ARRAY_DIAGONAL_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Diagonals of matrices, in batches: MatrixDiag, MatrixDiagPart and MatrixSetDiag in all three versions.
absl::Span<const KernelDef> DiagonalKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_DIAGONAL_H_

#ifndef SLUICE_KERNELS_RAGGED_FAMILIES_H_
#define SLUICE_KERNELS_RAGGED_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// RaggedCross.
SLUICE_AT_START absl::Span<const KernelRow> RaggedCrossKernels();
// RaggedGather.
SLUICE_AT_START absl::Span<const KernelRow> RaggedGatherKernels();
// RaggedRange.
SLUICE_AT_START absl::Span<const KernelRow> RaggedRangeKernels();
// RaggedTensorToSparse.
SLUICE_AT_START absl::Span<const KernelRow> RaggedToSparseKernels();
// RaggedTensorToTensor.
SLUICE_AT_START absl::Span<const KernelRow> RaggedToTensorKernels();
// RaggedTensorToVariant, RaggedTensorFromVariant, RaggedTensorToVariantGradient. Gives ragged tensors in variants the
// functions by which AddN and ZerosLike work on them.
SLUICE_AT_START absl::Span<const KernelRow> RaggedVariantKernels();

// Adds all of them.
SLUICE_AT_START void AddRaggedKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RAGGED_FAMILIES_H_

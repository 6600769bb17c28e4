#ifndef SLUICE_KERNELS_SEQUENCE_FAMILIES_H_
#define SLUICE_KERNELS_SEQUENCE_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// CTCLoss.
absl::Span<const KernelRow> CtcLossKernels();
// CTCGreedyDecoder.
absl::Span<const KernelRow> CtcGreedyDecoderKernels();
// EditDistance.
absl::Span<const KernelRow> EditDistanceKernels();

// Adds all of them.
void AddSequenceKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SEQUENCE_FAMILIES_H_

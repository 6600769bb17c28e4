#ifndef SLUICE_KERNELS_SEQUENCE_FAMILIES_H_
#define SLUICE_KERNELS_SEQUENCE_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// CTCLoss.
SLUICE_AT_START absl::Span<const KernelRow> CtcLossKernels();
// CTCGreedyDecoder.
SLUICE_AT_START absl::Span<const KernelRow> CtcGreedyDecoderKernels();
// CTCBeamSearchDecoder.
SLUICE_AT_START absl::Span<const KernelRow> CtcBeamSearchDecoderKernels();
// EditDistance.
SLUICE_AT_START absl::Span<const KernelRow> EditDistanceKernels();
// IsotonicRegression.
SLUICE_AT_START absl::Span<const KernelRow> IsotonicRegressionKernels();

// Adds all of them.
SLUICE_AT_START void AddSequenceKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_SEQUENCE_FAMILIES_H_

#ifndef SLUICE_KERNELS_PARSING_FAMILIES_H_
#define SLUICE_KERNELS_PARSING_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// DecodeCSV.
absl::Span<const KernelRow> DecodeCsvKernels();
// DecodeCompressed, DecodePaddedRaw.
absl::Span<const KernelRow> DecodeBytesKernels();
// ParseExample, ParseExampleV2, ParseSingleExample.
absl::Span<const KernelRow> ParseExampleKernels();
// ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample.
absl::Span<const KernelRow> ParseSequenceExampleKernels();

// Adds all of them.
void AddParsingKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_FAMILIES_H_

#ifndef SLUICE_KERNELS_PARSING_FAMILIES_H_
#define SLUICE_KERNELS_PARSING_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// DecodeCSV.
SLUICE_AT_START absl::Span<const KernelRow> DecodeCsvKernels();
// DecodeCompressed, DecodePaddedRaw.
SLUICE_AT_START absl::Span<const KernelRow> DecodeBytesKernels();
// ParseExample, ParseExampleV2, ParseSingleExample.
SLUICE_AT_START absl::Span<const KernelRow> ParseExampleKernels();
// ParseSequenceExample, ParseSequenceExampleV2, ParseSingleSequenceExample.
SLUICE_AT_START absl::Span<const KernelRow> ParseSequenceExampleKernels();

// Adds all of them.
SLUICE_AT_START void AddParsingKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_FAMILIES_H_

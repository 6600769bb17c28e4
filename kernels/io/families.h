#ifndef SLUICE_KERNELS_IO_FAMILIES_H_
#define SLUICE_KERNELS_IO_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Whole files and their names: ReadFile, WriteFile, MatchingFiles, ShardedFilename, ShardedFilespec.
SLUICE_AT_START absl::Span<const KernelRow> FileKernels();
// RestoreV2, from checkpoints of both forms.
SLUICE_AT_START absl::Span<const KernelRow> RestoreV2Kernels();
// Checkpoints of the first form: Save, SaveSlices, Restore, RestoreSlice.
SLUICE_AT_START absl::Span<const KernelRow> SaveV1Kernels();
// SaveV2, MergeV2Checkpoints.
SLUICE_AT_START absl::Span<const KernelRow> SaveV2Kernels();

// Adds all of them.
SLUICE_AT_START void AddIoKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IO_FAMILIES_H_

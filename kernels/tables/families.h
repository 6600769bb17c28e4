#ifndef SLUICE_KERNELS_TABLES_FAMILIES_H_
#define SLUICE_KERNELS_TABLES_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Handles and references of tables: HashTable, MutableHashTable, MutableHashTableOfTensors, their V2 forms,
// MutableDenseHashTableV2, and Anonymous... of all.
SLUICE_AT_START absl::Span<const KernelRow> TableHandleKernels();
// Ops on all kinds of tables: LookupTableFind, ...Insert, ...Remove, ...Size, ...Export, ...Import, InitializeTable, on
// references and on handles (V2).
SLUICE_AT_START absl::Span<const KernelRow> TableKernels();
// InitializeTableFromTextFile and its V2 form.
SLUICE_AT_START absl::Span<const KernelRow> VocabularyKernels();

// Adds all of them.
SLUICE_AT_START void AddTablesKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_FAMILIES_H_

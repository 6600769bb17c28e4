#ifndef SLUICE_KERNELS_LAYOUT_FAMILIES_H_
#define SLUICE_KERNELS_LAYOUT_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// DataFormatDimMap, DataFormatVecPermute.
SLUICE_AT_START absl::Span<const KernelRow> DataFormatKernels();
// InplaceUpdate, InplaceAdd, InplaceSub.
SLUICE_AT_START absl::Span<const KernelRow> InplaceKernels();

// Adds all of them.
SLUICE_AT_START void AddLayoutKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LAYOUT_FAMILIES_H_

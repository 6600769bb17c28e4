#ifndef SLUICE_KERNELS_CONTROL_FAMILIES_H_
#define SLUICE_KERNELS_CONTROL_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Printed output: Assert, Print, PrintV2. Text goes through print_sink.h.
SLUICE_AT_START absl::Span<const KernelRow> AssertPrintKernels();
// Const, Identity and its kin, IdentityN, Placeholder, _Arg, _Retval.
SLUICE_AT_START absl::Span<const KernelRow> BasicKernels();
// For.
SLUICE_AT_START absl::Span<const KernelRow> ForLoopKernels();

// Adds all of them.
SLUICE_AT_START void AddControlKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CONTROL_FAMILIES_H_

#ifndef SLUICE_KERNELS_TRANSFER_FAMILIES_H_
#define SLUICE_KERNELS_TRANSFER_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Values that cross between the parts of a step, over the run's rendezvous: _Send, _Recv, _HostSend, _HostRecv.
SLUICE_AT_START absl::Span<const KernelRow> SendRecvKernels();

// Adds all of them.
SLUICE_AT_START void AddTransferKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_TRANSFER_FAMILIES_H_

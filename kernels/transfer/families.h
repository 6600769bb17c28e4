#ifndef SLUICE_KERNELS_TRANSFER_FAMILIES_H_
#define SLUICE_KERNELS_TRANSFER_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// Values that cross between the parts of a step, over the run's rendezvous: _Send, _Recv, _HostSend, _HostRecv.
absl::Span<const KernelRow> SendRecvKernels();

// Adds all of them.
void AddTransferKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_TRANSFER_FAMILIES_H_

#ifndef SLUICE_KERNELS_TRANSFER_SEND_RECV_H_
#define SLUICE_KERNELS_TRANSFER_SEND_RECV_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Values that cross between the parts of a step, over the run's rendezvous: _Send, _Recv, _HostSend, _HostRecv.
absl::Span<const KernelDef> SendRecvKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_TRANSFER_SEND_RECV_H_

#ifndef SLUICE_KERNELS_TRANSFER_COPY_KERNEL_H_
#define SLUICE_KERNELS_TRANSFER_COPY_KERNEL_H_

#include <memory>

#include "kernels/device/stream.h"
#include "kernels/kernel.h"

namespace sluice {

// The kernel of a node that copies its input from one memory to another: of devices, or, where null, the host's.
// Asynchronous: it ends when the output may be used, which on a device is in the order of its stream. Its callback is
// called on any thread, also on those that wait for events. `is_constant`: the input is the same in every run; then a
// copy on a device is made once. See Note [Streams] in kernels/device/stream.h. Borrows the devices.
std::unique_ptr<Kernel> NewCopyKernel(StreamDevice* from, StreamDevice* to, bool is_constant);

}  // namespace sluice

#endif  // SLUICE_KERNELS_TRANSFER_COPY_KERNEL_H_

#ifndef SLUICE_EXECUTOR_PLAN_STREAM_KERNEL_H_
#define SLUICE_EXECUTOR_PLAN_STREAM_KERNEL_H_

#include <memory>
#include <vector>

#include "kernels/device/stream.h"
#include "kernels/kernel.h"

namespace sluice {

// Which inputs and outputs of a node on a device with memory of its own stand in host memory. By index; true: they do.
struct HostPorts {
  std::vector<bool> inputs;
  std::vector<bool> outputs;
};

// `kernel` as `device` runs it: it finds this device's name, state and memory in its run, what it launches waits for
// inputs that other streams write, and such inputs live until it is done (Note [Streams] in kernels/device/stream.h).
// Values that stand in the wrong memory are an error of the node. Cheap, since it only launches; asynchronous when
// `kernel` is, and then its callback may be called on threads that wait for events. Borrows the device.
std::shared_ptr<const Kernel> OnStream(std::shared_ptr<const Kernel> kernel, StreamDevice& device, HostPorts ports);

// `kernel`, which is asynchronous and whose callback is called on threads that wait for events: the run continues on
// another thread.
std::shared_ptr<const Kernel> OffEventThread(std::shared_ptr<const Kernel> kernel);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_STREAM_KERNEL_H_

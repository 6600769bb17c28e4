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

// Returns a kernel that calls `kernel` with the name, state and memory of `device`. The work that it launches waits for
// inputs that other streams write, and such inputs are kept until that work is done (Note [Streams] in
// kernels/device/stream.h). A value in the wrong memory is an error of the node. Cheap, since it only launches work;
// asynchronous when `kernel` is, and then its callback may be called on threads that wait for events. Borrows the
// device.
std::shared_ptr<const Kernel> OnStream(std::shared_ptr<const Kernel> kernel, StreamDevice& device, HostPorts ports);

// Returns a kernel that calls the asynchronous `kernel`, whose callback runs on threads that wait for events, and
// continues the run on another thread.
std::shared_ptr<const Kernel> OffEventThread(std::shared_ptr<const Kernel> kernel);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_STREAM_KERNEL_H_

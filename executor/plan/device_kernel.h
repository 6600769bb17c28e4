#ifndef SLUICE_EXECUTOR_PLAN_DEVICE_KERNEL_H_
#define SLUICE_EXECUTOR_PLAN_DEVICE_KERNEL_H_

#include <memory>

#include "kernels/device/device.h"
#include "kernels/kernel.h"

namespace sluice {

// Returns a kernel that calls `kernel` with the name and state of `device` instead of those of the run's own device.
// For devices that share memory and threads with that one. Asynchronous if `kernel` is. Borrows the device.
std::shared_ptr<const Kernel> OnDevice(std::shared_ptr<const Kernel> kernel, Device& device);

// Returns the kernel inside a kernel made by OnDevice, or `kernel` itself. For callers that test for a type of kernel.
const Kernel& KernelInside(const Kernel& kernel);

// The arguments of a call of such a kernel: the run's record with this device's state, and the call in that run, which
// must outlive it.
RunContext RunOn(Device& device, const RunContext& run);
KernelContext CallIn(const RunContext& run, KernelContext& context);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_DEVICE_KERNEL_H_

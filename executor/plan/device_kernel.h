#ifndef SLUICE_EXECUTOR_PLAN_DEVICE_KERNEL_H_
#define SLUICE_EXECUTOR_PLAN_DEVICE_KERNEL_H_

#include <memory>

#include "kernels/device/device.h"
#include "kernels/kernel.h"

namespace sluice {

// `kernel` as `device` runs it, for runs that belong to another one: it finds this device's name and state instead of
// the run's. For devices that share memory and threads with the run's. Asynchronous when `kernel` is. Borrows the
// device.
std::shared_ptr<const Kernel> OnDevice(std::shared_ptr<const Kernel> kernel, Device& device);

// What such a kernel was made of; any other kernel itself. For callers that look for a kernel by its type.
const Kernel& KernelInside(const Kernel& kernel);

// The arguments of a call of such a kernel: the run's record with this device's state, and the call in that run, which
// must outlive it.
RunContext RunOn(Device& device, const RunContext& run);
KernelContext CallIn(const RunContext& run, KernelContext& context);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_DEVICE_KERNEL_H_

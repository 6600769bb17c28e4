#ifndef SLUICE_EXECUTOR_CONSTANT_KERNEL_H_
#define SLUICE_EXECUTOR_CONSTANT_KERNEL_H_

#include <memory>

#include "graph/value/tensor.h"
#include "kernels/kernel.h"

namespace sluice {

// The kernel of a constant whose value is at hand.
std::shared_ptr<const Kernel> NewConstantKernel(Tensor value);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_CONSTANT_KERNEL_H_

#ifndef SLUICE_KERNELS_REDUCE_REDUCE_KERNELS_H_
#define SLUICE_KERNELS_REDUCE_REDUCE_KERNELS_H_

#include "kernels/kernel_registry.h"

namespace sluice {

// Adds the tables of this directory, each by name.
void AddReduceKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_REDUCE_REDUCE_KERNELS_H_

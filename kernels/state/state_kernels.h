#ifndef SLUICE_KERNELS_STATE_STATE_KERNELS_H_
#define SLUICE_KERNELS_STATE_STATE_KERNELS_H_

#include "kernels/kernel_registry.h"

namespace sluice {

// Adds the tables of all families in this directory.
void AddStateKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_STATE_KERNELS_H_

#ifndef SLUICE_KERNELS_ARRAY_ARRAY_KERNELS_H_
#define SLUICE_KERNELS_ARRAY_ARRAY_KERNELS_H_

#include "kernels/kernel_registry.h"

namespace sluice {

// Adds the tables of this directory, each by name.
void AddArrayKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_ARRAY_KERNELS_H_

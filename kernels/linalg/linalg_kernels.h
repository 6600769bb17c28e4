#ifndef SLUICE_KERNELS_LINALG_LINALG_KERNELS_H_
#define SLUICE_KERNELS_LINALG_LINALG_KERNELS_H_

#include "kernels/kernel_registry.h"

namespace sluice {

// Adds the tables of all ops on matrices.
void AddLinalgKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_LINALG_KERNELS_H_

#ifndef SLUICE_KERNELS_FAMILIES_REGISTER_ALL_H_
#define SLUICE_KERNELS_FAMILIES_REGISTER_ALL_H_

#include "kernels/at_start.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Adds the tables of all families to `registry`.
SLUICE_AT_START void RegisterAllKernels(KernelRegistry& registry);

// A registry with all kernels of this build. Lives for ever; hosts that add kernels make one of their own.
const KernelRegistry& BuiltinKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_FAMILIES_REGISTER_ALL_H_

#ifndef SLUICE_KERNELS_CONTROL_BASIC_H_
#define SLUICE_KERNELS_CONTROL_BASIC_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Const, Identity and its kin, IdentityN, Placeholder, _Arg, _Retval.
absl::Span<const KernelDef> BasicKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_CONTROL_BASIC_H_

#ifndef SLUICE_KERNELS_MATH_DIVISION_H_
#define SLUICE_KERNELS_MATH_DIVISION_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Quotients and remainders: Div, RealDiv, TruncateDiv, FloorDiv, Mod, FloorMod, TruncateMod, DivNoNan.
absl::Span<const KernelDef> DivisionKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_DIVISION_H_

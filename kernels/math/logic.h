#ifndef SLUICE_KERNELS_MATH_LOGIC_H_
#define SLUICE_KERNELS_MATH_LOGIC_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Of bools and bits: LogicalAnd, LogicalOr, LogicalNot, BitwiseAnd, Invert, LeftShift, PopulationCount, ...
absl::Span<const KernelDef> LogicKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_LOGIC_H_

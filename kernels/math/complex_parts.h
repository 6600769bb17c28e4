#ifndef SLUICE_KERNELS_MATH_COMPLEX_PARTS_H_
#define SLUICE_KERNELS_MATH_COMPLEX_PARTS_H_

#include "absl/types/span.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Between complex numbers and their parts: Complex, Real, Imag, Conj, Angle, ComplexAbs.
absl::Span<const KernelDef> ComplexPartsKernels();

}  // namespace sluice

#endif  // SLUICE_KERNELS_MATH_COMPLEX_PARTS_H_

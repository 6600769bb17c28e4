#ifndef SLUICE_TESTS_TESTING_PLAIN_KERNELS_H_
#define SLUICE_TESTS_TESTING_PLAIN_KERNELS_H_

#include "kernels/kernel_registry.h"

namespace sluice {

// Adds small kernels for tests of executors to `registry`, so that they need not wait for the real families:
// constants, identities, arguments and results (those of kernels/control); AddV2, Sub, Mul, Less, Greater and AddN of
// two operands of equal shape or scalars, of float and int32; _Send and _Recv with their host forms.
void AddPlainKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_PLAIN_KERNELS_H_

#ifndef SLUICE_TESTS_TESTING_FAKE_KERNELS_H_
#define SLUICE_TESTS_TESTING_FAKE_KERNELS_H_

#include "absl/status/status.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Adds kernels of FakeDevice (fake_device.h) to `registry`, as a host would:
//   AddV2, Sub, Mul, Maximum, Minimum, Less, Greater, Neg, Abs of int32 and float, LogicalAnd; MatMul of float;
//   ConcatV2 of int32 and float, whose axis is on the host;
//   Shape, whose result is on the host: the CPU's own, which only looks at the shape;
//   Const, and what hands a value on (Identity, IdentityN, StopGradient, PreventGradient): the CPU's own.
absl::Status AddFakeKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_FAKE_KERNELS_H_

#ifndef SLUICE_TESTS_STRESS_FAULTY_KERNELS_H_
#define SLUICE_TESTS_STRESS_FAULTY_KERNELS_H_

#include "kernels/kernel_registry.h"
#include "tests/stress/fault_plan.h"

namespace sluice {

// Adds to `registry`, which has the built-in tables, kernels for the ops of random programs that do what the built-in
// ones do, except where the plan says that they fail, throw, or drop their callback. The ops named async are carried
// out by asynchronous kernels that end on another thread of the run.
void AddFaultyKernels(FaultPlan* plan, KernelRegistry* registry);

}  // namespace sluice

#endif  // SLUICE_TESTS_STRESS_FAULTY_KERNELS_H_

#ifndef SLUICE_EXECUTOR_FUNCTIONS_KERNEL_STATE_H_
#define SLUICE_EXECUTOR_FUNCTIONS_KERNEL_STATE_H_

#include "graph/ir/graph.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// Whether kernels of `op` keep state of their own from run to run. Of an op with several rows, one tells; but each of a
// host's may.
bool KeepsState(const KernelRegistry& kernels, const OpSchema& op);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_FUNCTIONS_KERNEL_STATE_H_

#ifndef SLUICE_KERNELS_MISSING_KERNEL_H_
#define SLUICE_KERNELS_MISSING_KERNEL_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/node_properties.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// kNoKernel for a node without a kernel in `registry` for devices of this type ("CPU"): says whether the op is missing
// or only these dtypes.
absl::Status MissingKernel(const KernelRegistry& registry, const NodeProperties& node, absl::string_view device_type);

}  // namespace sluice

#endif  // SLUICE_KERNELS_MISSING_KERNEL_H_

#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_KERNEL_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_KERNEL_H_

#include <string>

#include "absl/status/statusor.h"
#include "kernels/owned_kernel_row.h"
#include "kernels/plugin/plugin_api.h"

namespace sluice {

// The row of a kernel that the plug-in `origin` describes. kHostKernel for a description that makes no sense by itself:
// a device, dtype, cost or sharing that does not exist, no function or two to compute with. Attrs and arguments are not
// looked up. `def` is copied, what it points to too, but for functions and their data.
absl::StatusOr<OwnedKernelRow> MakePluginRow(const SluiceKernelDef& def, const std::string& origin);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_KERNEL_H_

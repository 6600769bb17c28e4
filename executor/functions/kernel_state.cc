#include "executor/functions/kernel_state.h"

#include "absl/types/span.h"
#include "kernels/kernel_row.h"
#include "kernels/owned_kernel_row.h"

namespace sluice {

bool KeepsState(const KernelRegistry& kernels, const OpSchema& op) {
  for (const OwnedKernelRow* const added : kernels.HostRowsOf(op.name)) {
    if (!KernelRegistry::MayBeShared(op, {&added->row(), /*is_of_host=*/true})) return true;
  }
  static constexpr KernelRow kPlain("", KernelFactory());
  if (KernelRegistry::MayBeShared(op, {&kPlain, /*is_of_host=*/false})) return false;
  for (const absl::Span<const KernelRow> table : kernels.Tables()) {
    for (const KernelRow& row : table) {
      if (row.op() == op.name && KernelRegistry::MayBeShared(op, {&row, /*is_of_host=*/false})) return false;
    }
  }
  return true;
}

}  // namespace sluice

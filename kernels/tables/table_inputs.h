#ifndef SLUICE_KERNELS_TABLES_TABLE_INPUTS_H_
#define SLUICE_KERNELS_TABLES_TABLE_INPUTS_H_

#include "absl/status/statusor.h"
#include "kernels/kernel_context.h"
#include "kernels/tables/lookup_table.h"

namespace sluice {

// The table that input 0 leads to: a handle, or, in early graphs, a reference to the names of container and table.
// kResourceMissing (NOT_FOUND) when there is none, kResourceType when the handle is of another kind.
absl::StatusOr<CountedPtr<LookupTable>> TableInput(const KernelContext& context);

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_TABLE_INPUTS_H_

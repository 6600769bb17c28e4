#ifndef SLUICE_KERNELS_IO_TABLE_RESTORE_H_
#define SLUICE_KERNELS_IO_TABLE_RESTORE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "kernels/checkpoint/table_checkpoint.h"
#include "kernels/io/inputs.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Checks that tensor `name` has the type that the op expects and the shape that its slice states. kCheckpointEntry,
// kCheckpointSlice.
absl::Status CheckRestoredType(absl::string_view name, DType found, DType wanted);
absl::Status CheckRestoredShape(absl::string_view name, const Shape& found, const Shape& stated);

// The checkpoint of the first form in all files that match `pattern`. NOT_FOUND if no file matches.
absl::StatusOr<TableCheckpoint> OpenTables(const std::string& pattern);

// Reads output `i`: tensor `name`, or the slice of it where `spec` is not empty.
absl::Status RestoreOutput(KernelContext& context, const TableCheckpoint& checkpoint, int i, absl::string_view name,
                           absl::string_view spec);

// All outputs, from a checkpoint of the first form: RestoreV2 uses it if there is no checkpoint of the second form.
absl::Status RestoreFromTables(KernelContext& context, const std::string& pattern, const NamedSlices& wanted);

}  // namespace sluice

#endif  // SLUICE_KERNELS_IO_TABLE_RESTORE_H_

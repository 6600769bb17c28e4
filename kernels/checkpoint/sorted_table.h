#ifndef SLUICE_KERNELS_CHECKPOINT_SORTED_TABLE_H_
#define SLUICE_KERNELS_CHECKPOINT_SORTED_TABLE_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Reads the sorted string table in `file` (LevelDB's table format: blocks of entries that share prefixes, plain or
// compressed by Snappy, each with a CRC-32C; an index block; a footer) and calls `fn(key, value)` for every entry in
// order; `fn` may stop with an error. The views live as long as the call. kCheckpointDamaged (DATA_LOSS) naming the
// byte offset for anything wrong: nothing is read outside `file`, no size is believed before it is checked, keys must
// ascend.
absl::Status ForEachTableEntry(absl::string_view file,
                               absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> fn);

// Calls `fn` with the value of `key`, where the table has that, and returns what it says; NOT_FOUND (kCheckpointName)
// otherwise. Reads the index block and one other. Errors as above, of these two.
absl::Status FindTableEntry(absl::string_view file, absl::string_view key,
                            absl::FunctionRef<absl::Status(absl::string_view value)> fn);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_SORTED_TABLE_H_

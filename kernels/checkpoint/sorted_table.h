#ifndef SLUICE_KERNELS_CHECKPOINT_SORTED_TABLE_H_
#define SLUICE_KERNELS_CHECKPOINT_SORTED_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

// Reads the sorted string table in `file` (LevelDB's table format: blocks of entries that share prefixes, plain or
// compressed by Snappy, each with a CRC-32C; an index block; a footer) and calls `fn(key, value)` for every entry in
// order; `fn` may stop with an error. The views live as long as the call. kCheckpointDamaged (DATA_LOSS) naming the
// byte offset for anything wrong: nothing is read outside `file`, no size is believed before it is checked, keys must
// ascend.
absl::Status ForEachTableEntry(absl::string_view file,
                               absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> fn);

// A table in which keys are looked up: its index block is in memory, other blocks are read when a key may be in them.
// Immutable; borrows the file.
class SortedTable {
 public:
  // Errors as above, of the footer and the index block.
  static absl::StatusOr<SortedTable> Open(absl::string_view file);

  // Calls `fn` with the value of `key` and returns its result; NOT_FOUND (kCheckpointName) if the table lacks the key.
  // Reads one block. Errors as above, of that block.
  absl::Status Find(absl::string_view key, absl::FunctionRef<absl::Status(absl::string_view value)> fn) const;

 private:
  // A block, and a key that is not below its last one.
  struct Place {
    std::string last;
    uint64_t offset = 0, size = 0;
  };

  absl::string_view file_;
  std::vector<Place> places_;  // By ascending key.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_SORTED_TABLE_H_

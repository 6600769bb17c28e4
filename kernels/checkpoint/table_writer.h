#ifndef SLUICE_KERNELS_CHECKPOINT_TABLE_WRITER_H_
#define SLUICE_KERNELS_CHECKPOINT_TABLE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/checkpoint/new_file.h"

namespace sluice {

// Writes a sorted string table, which sorted_table.h reads, entry by entry: in uncompressed blocks, with one block in
// memory at a time. Borrows the file, which must be empty; the caller commits it. One thread's at a time.
class TableWriter {
 public:
  // A block ends after the entry that makes it as large as `block_bytes`.
  TableWriter(NewFile* file, size_t block_bytes) : file_(*file), block_bytes_(block_bytes) {}

  // REQUIRES: keys ascend.
  absl::Status Add(absl::string_view key, absl::string_view value);
  absl::Status Finish();

 private:
  // Entries, each with the prefix that it shares with the one before, and where every 16th stands, whole.
  struct Block {
    void Add(absl::string_view key, absl::string_view value);
    // The whole block; it is empty afterwards.
    std::string Take();

    std::string bytes, last_key, restarts;
    uint32_t num_restarts = 0;
    int entries_since = 0;
  };

  // Writes a block with its trailer; `*place` becomes its handle.
  absl::Status Write(Block* block, std::string* place);
  absl::Status EndBlock();

  NewFile& file_;
  const size_t block_bytes_;
  Block block_, index_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_TABLE_WRITER_H_

#ifndef SLUICE_TESTS_KERNELS_CHECKPOINT_TABLE_BYTES_H_
#define SLUICE_TESTS_KERNELS_CHECKPOINT_TABLE_BYTES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// How blocks of a table are stored.
enum class TableCompression : char { kNone = 0, kSnappy = 1 };

// The bytes of a sorted string table with `entries` in the order given, `entries_a_block` to a block, prefixes shared
// within a block.
std::string TableBytes(const std::vector<std::pair<std::string, std::string>>& entries, size_t entries_a_block,
                       TableCompression compression = TableCompression::kNone);

// `text` compressed by Snappy: literals, and copies of what came at most 64 KiB before.
std::string SnappyBytes(absl::string_view text);

// The bytes of a sorted string table that consists of one block, stored as `bytes` under the compression type `type`.
std::string TableOfBlock(const std::string& bytes, char type);

// The bytes of a table whose only block, which has no entries, is listed `times` times.
std::string TableOfRepeatedBlock(int times);

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_CHECKPOINT_TABLE_BYTES_H_

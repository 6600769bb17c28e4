#ifndef SLUICE_TESTS_KERNELS_CHECKPOINT_TABLE_BYTES_H_
#define SLUICE_TESTS_KERNELS_CHECKPOINT_TABLE_BYTES_H_

#include <string>
#include <utility>
#include <vector>

namespace sluice {

// The bytes of a sorted string table with `entries` in the order given, `entries_a_block` to a block, prefixes shared
// within a block.
std::string TableBytes(const std::vector<std::pair<std::string, std::string>>& entries, size_t entries_a_block);

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_CHECKPOINT_TABLE_BYTES_H_

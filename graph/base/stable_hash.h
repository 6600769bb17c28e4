#ifndef SLUICE_GRAPH_BASE_STABLE_HASH_H_
#define SLUICE_GRAPH_BASE_STABLE_HASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// The 64-bit FNV-1a hash of `text`: the same in every process and version, so that files may hold it. Not for hash
// tables of names from files, whose writers could choose names with equal hashes.
constexpr uint64_t StableHash(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_STABLE_HASH_H_

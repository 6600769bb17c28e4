#ifndef SLUICE_KERNELS_STRINGS_STRING_HASH_H_
#define SLUICE_KERNELS_STRINGS_STRING_HASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// Hashes by which TensorFlow puts strings into buckets, beside farmhash64.h's: part of the meaning of its ops, the same
// for ever.

// MurmurHash64A with TensorFlow's seed: StringToHashBucket, and the order of what dense tables export.
uint64_t MurmurHash(absl::string_view text);
// SipHash-2-4: StringToHashBucketStrong.
uint64_t SipHash(absl::string_view text, uint64_t key0, uint64_t key1);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_STRING_HASH_H_

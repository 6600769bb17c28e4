#ifndef SLUICE_KERNELS_TABLES_KEY_HASH_H_
#define SLUICE_KERNELS_TABLES_KEY_HASH_H_

#include <cstdint>

#include "graph/value/tensor.h"

namespace sluice {

// Note [Order of buckets]
// Export of a dense table shows its buckets, and graphs may have come to count on their order. So keys are hashed as
// TensorFlow does it: an integer is its own hash, a string has MurmurHash64A of a fixed seed, and the hashes of several
// elements are mixed one after the other. This does not protect against keys chosen by an adversary; each step of the
// search goes farther than the one before, as in TensorFlow.

// The hash of elements [row * width, (row + 1) * width) of `keys`, of strings or integers.
uint64_t HashKey(const Tensor& keys, int64_t row, int64_t width);

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_KEY_HASH_H_

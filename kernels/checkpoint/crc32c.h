#ifndef SLUICE_KERNELS_CHECKPOINT_CRC32C_H_
#define SLUICE_KERNELS_CHECKPOINT_CRC32C_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// The CRC-32C (Castagnoli) of `bytes`, continuing `crc` (0 at the start). Uses the processor's instruction where it has
// one: about 10 GB/s, else a table.
uint32_t Crc32c(absl::string_view bytes, uint32_t crc = 0);

// The CRC-32C of two texts one after the other, from that of each and the size of the second.
uint32_t JoinCrc32c(uint32_t first, uint32_t second, uint64_t second_bytes);

// How checkpoints store a checksum: rotated and shifted, so that checksums of data that holds checksums stay sound.
uint32_t MaskCrc(uint32_t crc);
uint32_t UnmaskCrc(uint32_t masked);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_CRC32C_H_

#ifndef SLUICE_KERNELS_CHECKPOINT_STRING_FORM_H_
#define SLUICE_KERNELS_CHECKPOINT_STRING_FORM_H_

// Reads and writes a tensor of strings as checkpoints store it: all lengths as varints, a checksum of the lengths, all
// bytes.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/tstring.h"

namespace sluice {

// The strings in `bytes`, which hold nothing else. `*crc` becomes the checksum of all, which the caller compares with
// that of the entry. kCheckpointDamaged for lengths that do not add up, or that have the wrong checksum.
absl::Status ReadStringForm(absl::string_view bytes, bool is_big_endian, absl::Span<TString> values, uint32_t* crc);

// The lengths and checksum that precede the bytes of the strings; `*crc` becomes the checksum of it, to go on with the
// strings'.
std::string StringFormHead(absl::Span<const TString> values, uint32_t* crc);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_STRING_FORM_H_

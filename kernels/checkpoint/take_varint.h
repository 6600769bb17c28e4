#ifndef SLUICE_KERNELS_CHECKPOINT_TAKE_VARINT_H_
#define SLUICE_KERNELS_CHECKPOINT_TAKE_VARINT_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice {

// Takes a varint of up to 10 bytes from the front of `bytes`. Returns false, and takes nothing, if they do not begin
// with one.
inline bool TakeVarint(absl::string_view* bytes, uint64_t* value) {
  uint64_t result = 0;
  for (size_t i = 0; i < bytes->size() && i < 10; ++i) {
    const uint8_t byte = static_cast<uint8_t>((*bytes)[i]);
    result |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    bytes->remove_prefix(i + 1);
    *value = result;
    return true;
  }
  return false;
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_CHECKPOINT_TAKE_VARINT_H_

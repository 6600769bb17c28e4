#include "kernels/strings/utf8.h"

#include <cstddef>
#include <cstdint>

namespace sluice {

bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const uint8_t first = static_cast<uint8_t>(text[i++]);
    if (first < 0x80) continue;
    const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || text.size() - i < more) return false;
    for (size_t k = 0; k < more; ++k) {
      if ((static_cast<uint8_t>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    const uint8_t second = static_cast<uint8_t>(text[i]);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f)) {
      return false;
    }
    i += more;
  }
  return true;
}

}  // namespace sluice

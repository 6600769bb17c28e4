#ifndef SLUICE_KERNELS_STRINGS_UNICODE_UTF8_H_
#define SLUICE_KERNELS_STRINGS_UNICODE_UTF8_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

inline constexpr uint32_t kReplacementRune = 0xFFFD;

// One step through text: the code point and the bytes it takes. Where `is_valid` is false the bytes are the longest
// part that could have begun a code point (one at least), which decoders replace as a whole.
struct DecodedRune {
  uint32_t rune = kReplacementRune;
  int size = 1;
  bool is_valid = false;
};

// Decodes at the front of `text`, which is not empty. Surrogates, overlong forms and numbers beyond U+10FFFF are not
// code points.
DecodedRune DecodeUtf8(absl::string_view text);

// Adds the UTF-8 form of `rune`, which is at most U+10FFFF.
void AppendUtf8(uint32_t rune, std::string* out);
// Writes it to `to`, where 4 bytes are free, and returns its size.
int WriteUtf8(uint32_t rune, char* to);

// Whether the byte continues a code point that began before it.
inline bool IsTrailByte(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_UNICODE_UTF8_H_

#ifndef SLUICE_KERNELS_STRINGS_UNICODE_TEXT_ENCODING_H_
#define SLUICE_KERNELS_STRINGS_UNICODE_TEXT_ENCODING_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "kernels/strings/unicode/utf8.h"

namespace sluice {

enum class TextEncoding : uint8_t { kUtf8, kUtf16, kUtf16Be, kUtf16Le, kUtf32, kUtf32Be, kUtf32Le, kAscii, kLatin1 };

// Finds an encoding by its name, in which case and punctuation do not count. False for all others.
bool FindTextEncoding(absl::string_view name, TextEncoding* encoding);

// Walks over the code points of a text. Borrows it. For one thread at a time.
class RuneReader {
 public:
  // Of kUtf16 and kUtf32 a mark at the front says the byte order; it belongs to the first code point. Without one they
  // are big-endian.
  RuneReader(TextEncoding encoding, absl::string_view text);

  // The next code point, as DecodeUtf8 gives it. False at the end.
  bool Next(DecodedRune* next);

 private:
  DecodedRune DecodeUtf16() const;
  DecodedRune DecodeUtf32() const;
  uint32_t Unit16(size_t at) const;

  TextEncoding encoding_;
  absl::string_view text_;
  int mark_bytes_ = 0;
};

// Adds `rune` in an encoding of UnicodeEncode: kUtf8, kUtf16Be or kUtf32Be.
void AppendRune(TextEncoding encoding, uint32_t rune, std::string* out);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_UNICODE_TEXT_ENCODING_H_

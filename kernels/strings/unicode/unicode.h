#ifndef SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_H_
#define SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_H_

// What TensorFlow knows of code points: scripts, and the case mappings of StringLower and StringUpper.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

inline constexpr uint32_t kMaxRune = 0x10FFFF;

// The number that UnicodeScript gives for `rune`; -1 where it is not a code point.
int32_t ScriptNumber(int32_t rune);

// `text`, which is UTF-8 (each part that is not becomes U+FFFD), in lower or upper case, added to `*out`.
void AppendLower(absl::string_view text, std::string* out);
void AppendUpper(absl::string_view text, std::string* out);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_H_

#ifndef SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_H_
#define SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_H_

// What TensorFlow knows of code points: groups and folds of its regular expressions, scripts, and the case mappings of
// StringLower and StringUpper.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

inline constexpr uint32_t kMaxRune = 0x10FFFF;

// Code points first to last.
struct RuneRange {
  uint32_t first = 0;
  uint32_t last = 0;
};

// Finds the code points of a general category ("L", "Lu"), a script ("Greek") or "Any", in ascending order. False where
// there is no such group.
bool FindUnicodeGroup(absl::string_view name, std::vector<RuneRange>* ranges);

// The next code point that differs from `rune` in case only, after the largest the smallest; `rune` where none does.
uint32_t NextFold(uint32_t rune);
// All code points for which that is another one, ascending.
const std::vector<uint32_t>& FoldingRunes();

// The number that UnicodeScript gives for `rune`; -1 where it is not a code point.
int32_t ScriptNumber(int32_t rune);

// `text`, which is UTF-8 (each part that is not becomes U+FFFD), in lower or upper case, added to `*out`.
void AppendLower(absl::string_view text, std::string* out);
void AppendUpper(absl::string_view text, std::string* out);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_UNICODE_UNICODE_H_

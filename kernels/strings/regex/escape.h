#ifndef SLUICE_KERNELS_STRINGS_REGEX_ESCAPE_H_
#define SLUICE_KERNELS_STRINGS_REGEX_ESCAPE_H_

// Parts of a pattern that stand for code points. Each takes what it reads off the front of `*text`, and gives RE2's
// words as INVALID_ARGUMENT where it is not well-formed.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/strings/regex/rune_set.h"

namespace sluice {

// "<words>: <part>".
absl::Status RegexError(absl::string_view words, absl::string_view part);

// The code point at the front. REQUIRES: *text is not empty and is UTF-8 (surrogates allowed).
uint32_t TakeRune(absl::string_view* text);
// Whether `text` is UTF-8, surrogates allowed.
bool IsPatternText(absl::string_view text);

// An escape of one code point, from the backslash on.
absl::StatusOr<uint32_t> TakeEscape(absl::string_view* text);

// \d, \S, \pL or \P{Greek}: adds what it stands for and gives true; false, and nothing is taken, where it is none.
absl::StatusOr<bool> TakeNamedClass(absl::string_view* text, bool fold, RuneSet* set);

// A class in brackets, from '[' on.
absl::StatusOr<std::vector<RuneRange>> TakeBracketClass(absl::string_view* text, bool fold);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_REGEX_ESCAPE_H_

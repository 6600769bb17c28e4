#include "kernels/strings/regex/escape.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/status_macros.h"
#include "kernels/strings/unicode/utf8.h"

namespace sluice {
namespace {

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

uint32_t HexDigit(char c) {
  if (c <= '9') return static_cast<uint32_t>(c - '0');
  return static_cast<uint32_t>(absl::ascii_tolower(static_cast<unsigned char>(c)) - 'a' + 10);
}

// The part of `before` that `after` no longer holds.
absl::string_view Taken(absl::string_view before, absl::string_view after) {
  return before.substr(0, before.size() - after.size());
}

// A three-byte form of a surrogate, which patterns may hold.
bool IsSurrogate(absl::string_view text) {
  return text.size() >= 3 && text[0] == '\xED' && static_cast<uint8_t>(text[1]) >= 0xA0 && IsTrailByte(text[1]) &&
         IsTrailByte(text[2]);
}

// Takes the next character where it is a hexadecimal digit, and another one too: errors show it. False where it is
// none.
bool TakeHexDigit(absl::string_view* text, uint32_t* rune) {
  if (text->empty()) return false;
  const uint32_t c = TakeRune(text);
  if (c >= 0x80 || !absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
  *rune = *rune * 16 + HexDigit(static_cast<char>(c));
  return true;
}

// The code point of \x, whose '\x' was taken. False where it is not well-formed; what was read up to there is taken.
bool TakeHex(absl::string_view* text, uint32_t* rune) {
  *rune = 0;
  if (!absl::ConsumePrefix(text, "{")) {
    // The second character is shown too where the first is wrong.
    const bool is_first = TakeHexDigit(text, rune);
    return TakeHexDigit(text, rune) && is_first;
  }
  int digits = 0;
  for (; !text->empty() && text->front() != '}'; ++digits) {
    if (!TakeHexDigit(text, rune) || *rune > kMaxRune) return false;
  }
  return absl::ConsumePrefix(text, "}") && digits > 0;
}

// Whether an escape of `c` that is not a letter or a digit stands for itself.
bool IsPlainEscape(uint32_t c) { return c < 0x80 && !absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// The character that \n and its like stand for, or 0.
char ControlOf(char letter) {
  switch (letter) {
    case 'a':
      return '\a';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return 0;
  }
}

// Adds `ranges`, or where `negated` all others.
void AddClass(std::vector<RuneRange> ranges, bool negated, bool fold, RuneSet* set) {
  RuneSet own;
  own.AddAll(ranges, fold);
  if (negated) own.Complement();
  set->AddAll(own.Take(), /*fold=*/false);
}

// The name in \pL or \p{Greek}, after \p.
absl::StatusOr<absl::string_view> TakeGroupName(absl::string_view* text, absl::string_view whole) {
  const absl::string_view before = *text;
  if (text->empty()) return RegexError("invalid character class range", whole);
  if (TakeRune(text) != '{') return Taken(before, *text);
  const size_t end = text->find('}');
  if (end == absl::string_view::npos) return RegexError("invalid character class range", whole);
  const absl::string_view name = text->substr(0, end);
  text->remove_prefix(end + 1);
  return name;
}

// One end of a range in a class in brackets.
absl::StatusOr<uint32_t> TakeClassRune(absl::string_view* text, absl::string_view whole) {
  if (text->empty()) return RegexError("missing ]", whole);
  if (text->front() == '\\') return TakeEscape(text);
  return TakeRune(text);
}

// [:alpha:] in a class. False, and nothing is taken, where it is none.
absl::StatusOr<bool> TakePosixClass(absl::string_view* text, bool fold, RuneSet* set) {
  if (!absl::StartsWith(*text, "[:")) return false;
  const size_t end = text->find(":]", 2);
  if (end == absl::string_view::npos) return false;
  const absl::string_view whole = text->substr(0, end + 2);
  absl::string_view name = text->substr(2, end - 2);
  const bool negated = absl::ConsumePrefix(&name, "^");
  std::vector<RuneRange> ranges;
  if (!FindPosixClass(name, &ranges)) return RegexError("invalid character class range", whole);
  AddClass(std::move(ranges), negated, fold, set);
  text->remove_prefix(whole.size());
  return true;
}

}  // namespace

absl::Status RegexError(absl::string_view words, absl::string_view part) {
  return absl::InvalidArgumentError(part.empty() ? std::string(words) : absl::StrCat(words, ": ", part));
}

bool IsPatternText(absl::string_view text) {
  while (!text.empty()) {
    const DecodedRune next = DecodeUtf8(text);
    if (!next.is_valid && !IsSurrogate(text)) return false;
    text.remove_prefix(next.is_valid ? static_cast<size_t>(next.size) : 3);
  }
  return true;
}

uint32_t TakeRune(absl::string_view* text) {
  if (IsSurrogate(*text)) {
    const uint32_t rune = 0xD000u | (static_cast<uint8_t>((*text)[1]) & 0x3Fu) << 6 | ((*text)[2] & 0x3F);
    text->remove_prefix(3);
    return rune;
  }
  const DecodedRune next = DecodeUtf8(*text);
  text->remove_prefix(static_cast<size_t>(next.size));
  return next.rune;
}

absl::StatusOr<uint32_t> TakeEscape(absl::string_view* text) {
  const absl::string_view before = *text;
  text->remove_prefix(1);
  if (text->empty()) return RegexError("trailing \\", "");
  const uint32_t c = TakeRune(text);
  if (c >= '0' && c <= '7') {
    // A digit alone would be a reference to a group, which only 0 cannot be.
    uint32_t rune = c - '0';
    if (c != '0' && (text->empty() || !IsOctal(text->front()))) {
      return RegexError("invalid escape sequence", Taken(before, *text));
    }
    for (int more = 0; more < 2 && !text->empty() && IsOctal(text->front()); ++more) {
      rune = rune * 8 + static_cast<uint32_t>(text->front() - '0');
      text->remove_prefix(1);
    }
    return rune;
  }
  uint32_t rune = 0;
  if (c == 'x') {
    if (TakeHex(text, &rune)) return rune;
  } else if (IsPlainEscape(c)) {
    return c;
  } else if (c < 0x80 && ControlOf(static_cast<char>(c)) != 0) {
    return static_cast<uint32_t>(ControlOf(static_cast<char>(c)));
  }
  return RegexError("invalid escape sequence", Taken(before, *text));
}

absl::StatusOr<bool> TakeNamedClass(absl::string_view* text, bool fold, RuneSet* set) {
  if (text->size() < 2 || text->front() != '\\') return false;
  const char letter = (*text)[1];
  std::vector<RuneRange> ranges;
  if (FindPerlClass(absl::ascii_tolower(static_cast<unsigned char>(letter)), &ranges)) {
    AddClass(std::move(ranges), absl::ascii_isupper(static_cast<unsigned char>(letter)), fold, set);
    text->remove_prefix(2);
    return true;
  }
  if (letter != 'p' && letter != 'P') return false;
  const absl::string_view before = *text;
  text->remove_prefix(2);
  SLUICE_ASSIGN_OR_RETURN(absl::string_view name, TakeGroupName(text, before));
  const bool negated = absl::ConsumePrefix(&name, "^") != (letter == 'P');
  if (!FindUnicodeGroup(name, &ranges)) {
    return RegexError("invalid character class range", Taken(before, *text));
  }
  AddClass(std::move(ranges), negated, fold, set);
  return true;
}

absl::StatusOr<std::vector<RuneRange>> TakeBracketClass(absl::string_view* text, bool fold) {
  const absl::string_view whole = *text;
  text->remove_prefix(1);
  const bool negated = absl::ConsumePrefix(text, "^");
  RuneSet set;
  for (bool is_first = true; text->empty() || text->front() != ']' || is_first; is_first = false) {
    if (text->empty()) return RegexError("missing ]", whole);
    SLUICE_ASSIGN_OR_RETURN(const bool is_posix, TakePosixClass(text, fold, &set));
    if (is_posix) continue;
    SLUICE_ASSIGN_OR_RETURN(const bool is_named, TakeNamedClass(text, fold, &set));
    if (is_named) continue;
    const absl::string_view before = *text;
    SLUICE_ASSIGN_OR_RETURN(const uint32_t first, TakeClassRune(text, whole));
    uint32_t last = first;
    if (text->size() >= 2 && (*text)[0] == '-' && (*text)[1] != ']') {
      text->remove_prefix(1);
      SLUICE_ASSIGN_OR_RETURN(last, TakeClassRune(text, whole));
      if (last < first) return RegexError("invalid character class range", Taken(before, *text));
    }
    set.AddAll({{first, last}}, fold);
  }
  text->remove_prefix(1);
  if (negated) set.Complement();
  return set.Take();
}

}  // namespace sluice
